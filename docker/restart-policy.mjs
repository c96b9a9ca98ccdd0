/**
 * When a program that ended is started again. Pure: the supervisor asks, and waits as long as this says.
 *
 * A program that ran for a while has its failures forgotten. One that keeps ending at once is started less and less
 * often, and never given up: what it lacks (a disk, a setting in a mounted file) may come back.
 */
export const restartLimits = {
  /** the wait after the first end, doubled after each that follows */
  firstMs: 250,
  mostMs: 30_000,
  /** whoever ran this long was up */
  steadyMs: 60_000,
};

/** How many ends in a row there were, this one counted. */
export function countFailures(before, ranMs) {
  return ranMs >= restartLimits.steadyMs ? 1 : before + 1;
}

/** @param {number} failures ends in a row, at least one */
export function restartDelayMs(failures) {
  return Math.min(restartLimits.mostMs, restartLimits.firstMs * 2 ** (failures - 1));
}
