/** The types of restart-policy.mjs, which runs in the image as it is and so can't be TypeScript. */
export declare const restartLimits: {
  readonly firstMs: number;
  readonly mostMs: number;
  readonly steadyMs: number;
};
export declare function countFailures(before: number, ranMs: number): number;
export declare function restartDelayMs(failures: number): number;
