/** How far the projections are: for the log, in lines that are not too many, and for whoever asks. */
import type { Logger } from "@sand/node-kit";
import type { SearchStatus } from "@sand/protocol";

export interface CatchUpReport {
  /** an empty index is filled; a damaged one lies at `setAside` */
  begun(setAside: string | undefined): void;
  progress(done: number, total: number): void;
  failed(): void;
  status(agents: number): SearchStatus;
}

export function createCatchUpReport(deps: {
  readonly logger: Logger;
  readonly tellMs: number;
}): CatchUpReport {
  const { logger } = deps;
  let state: SearchStatus["state"] = "catching-up";
  let left = 0;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let isLong = false;

  function end(): void {
    if (isLong) logger.info({ event: "search.ready" }, "the search knows all that agents hold");
    isLong = false;
    state = "ready";
  }

  return {
    begun(setAside) {
      state = "rebuilding";
      isLong = true;
      if (setAside === undefined)
        logger.info({ event: "search.begun" }, "the search index is made from the stores");
      else {
        const text = "the search index is damaged and is made again from the stores";
        logger.error({ event: "search.damaged", moved: setAside }, text);
      }
    },
    progress(done, total) {
      left = total - done;
      if (left === 0) {
        end();
        return;
      }
      if (state !== "rebuilding") state = "catching-up";
      const nowMs = performance.now();
      if (nowMs - toldAtMs < deps.tellMs) return;
      toldAtMs = nowMs;
      isLong = true;
      const text = "projections are brought up to date; a search finds what is in them so far";
      logger.info({ event: "search.progress", done, total }, text);
    },
    failed() {
      state = "unavailable";
    },
    status: (agents) => ({ state, agentsDone: Math.max(agents - left, 0), agentsTotal: agents }),
  };
}
