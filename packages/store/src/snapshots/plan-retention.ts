/**
 * Which snapshots are kept: the newest ones, one for each of the last days, and the last one of each earlier owner,
 * because what a new owner takes for deleted may be what it never had.
 */
import type { SnapshotRow } from "./snapshot-manifest.ts";

export interface RetentionPolicy {
  /** the newest snapshots, at least 1 */
  readonly newest: number;
  /** days of which the last snapshot is kept */
  readonly days: number;
}

export const retentionDefaults: RetentionPolicy = { newest: 48, days: 30 };
/** earlier owners whose last snapshot is kept */
const epochsMax = 10;
const dayMs = 86_400_000;

/** In the order of their numbers. */
export function planRetention(
  rows: readonly SnapshotRow[],
  policy: RetentionPolicy,
  nowMs: number,
): readonly SnapshotRow[] {
  const newestFirst = [...rows].sort((left, right) => right.number - left.number);
  const kept = new Set(newestFirst.slice(0, Math.max(1, policy.newest)));
  const days = new Set<number>();
  const epochs = new Set<number>();
  for (const row of newestFirst) {
    const day = Math.floor(row.takenAtMs / dayMs);
    if (row.takenAtMs > nowMs - policy.days * dayMs && !days.has(day)) {
      days.add(day);
      kept.add(row);
    }
    if (!epochs.has(row.epoch) && epochs.size < epochsMax) {
      epochs.add(row.epoch);
      kept.add(row);
    }
  }
  return newestFirst.filter((row) => kept.has(row)).reverse();
}
