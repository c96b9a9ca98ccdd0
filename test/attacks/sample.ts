/**
 * Which attacks a run makes: all of them with `SAND_ATTACKS=full`, as the proof asks for, else a share of each group.
 * The share of a guarded run changes from run to run. With the guard off it stays, since what succeeds there is known.
 */
export interface AttackSample {
  /** only each n-th attack of a group, from `offset` on */
  readonly every?: number;
  readonly offset?: number;
  /** how long a change may take to be put back, in `ms`; with the guard off nobody puts it back */
  readonly settleMs?: number;
}

const guardedEvery = 4;
const unguardedEvery = 5;
const unguardedSettleMs = 500;

export const isFull: boolean = process.env.SAND_ATTACKS === "full";

export function sampleFor(sandbox: "required" | "off"): AttackSample {
  if (sandbox === "off") return { ...(isFull ? {} : { every: unguardedEvery }), settleMs: unguardedSettleMs };
  return isFull ? {} : { every: guardedEvery, offset: Math.floor(Math.random() * guardedEvery) };
}
