/**
 * Brings the roster up to date once the doors are open, and tries again while the disk doesn't let it: a host that can't
 * read its agents now answers each command with the reason, and goes on by itself when it can.
 */
import type { Logger } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { OpenedHostIndex } from "@sand/store";

/** between two tries, in `ms` */
const retryMs = 1_000;

export interface CatchUpRosterDeps {
  readonly index: Pick<OpenedHostIndex, "catchUp">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Resolves with whether the roster is up to date; false when the host closes before. */
export async function catchUpRoster(deps: CatchUpRosterDeps, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await deps.index.catchUp();
      return !signal.aborted;
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      if (!signal.aborted) await waitForDisk(deps, error, signal);
    }
  }
  return false;
}

async function waitForDisk(
  { clock, logger }: CatchUpRosterDeps,
  error: BoxError,
  signal: AbortSignal,
): Promise<void> {
  logger.error({ event: "roster.waits", err: error }, "the agents can't be read now");
  await clock.sleep(retryMs, signal);
}
