/** What tests in TypeScript use of load-program.mjs. */
export declare function readProgram(bundle: string): string;
