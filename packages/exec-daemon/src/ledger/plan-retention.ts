/** Chooses which finished executions are forgotten: those over age, then the oldest over the count. Pure. */
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
