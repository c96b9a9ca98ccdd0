/**
 * Chooses which finished executions are forgotten: those over age, then the oldest over the count; and which lose their
 * output before that: the oldest, until the others are within the bound of bytes. Pure.
 */
export interface FinishedExecution {
  readonly executionId: string;
  readonly endedAtMs: number;
}

export interface RetentionBounds {
  readonly finishedMax: number;
  readonly finishedMaxAgeMs: number;
}

export function planRetention(
  finished: readonly FinishedExecution[],
  bounds: RetentionBounds,
  nowMs: number,
): readonly string[] {
  const newestFirst = [...finished].sort((a, b) => b.endedAtMs - a.endedAtMs);
  return newestFirst
    .filter(
      (execution, index) =>
        index >= bounds.finishedMax || nowMs - execution.endedAtMs > bounds.finishedMaxAgeMs,
    )
    .map((execution) => execution.executionId);
}

export interface HeldBytes {
  readonly endedAtMs: number;
  readonly bytes: number;
}

export function planSpoolDrops<T extends HeldBytes>(finished: readonly T[], bytesMax: number): readonly T[] {
  const newestFirst = [...finished].sort((a, b) => b.endedAtMs - a.endedAtMs);
  let sum = 0;
  return newestFirst.filter(({ bytes }) => {
    sum += bytes;
    return bytes > 0 && sum > bytesMax;
  });
}
