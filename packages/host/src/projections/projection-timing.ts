/** When projections are made. All of it is waiting: an idle host has no thread and no running timer for them. */
export interface ProjectionTiming {
  /** what commits bring is projected once none came for this long, in `ms`: a turn that runs doesn't pay for it */
  readonly quietMs: number;
  /** the same while no thread runs: one costs some 30 MB, and a search brings the work forward anyway, in `ms` */
  readonly quietColdMs: number;
  /** … and after this at the latest, in `ms` */
  readonly gatherMaxMs: number;
  /** after the start, before a look whether anything is behind, in `ms` */
  readonly lookAfterMs: number;
  /** a thread with nothing to do ends after this, in `ms` */
  readonly idleMs: number;
  /** the first pause after a failure; it doubles up to the longest, in `ms` */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** an agent's removal waits this long at most for what is being written of it, in `ms` */
  readonly forgetMaxMs: number;
  /** searches that wait for their answer */
  readonly searchesMax: number;
  /** the least time from one line on a long catching up to the next, in `ms` */
  readonly tellMs: number;
}

export const projectionTiming: ProjectionTiming = {
  quietMs: 1_000,
  quietColdMs: 5_000,
  gatherMaxMs: 10_000,
  lookAfterMs: 10_000,
  idleMs: 30_000,
  retryMs: 5_000,
  retryMaxMs: 300_000,
  forgetMaxMs: 5_000,
  searchesMax: 64,
  tellMs: 10_000,
};
