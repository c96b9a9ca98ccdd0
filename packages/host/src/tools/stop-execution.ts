/**
 * Watches over one execution while its output is read: an interrupted turn stops the command and all that it
 * started (TERM, a grace, KILL), and an execution that stays without a reported end long past its limit is given up.
 */
import { BoxError, type Clock, type ExecutionId } from "@sand/protocol";
import type { BoxPort } from "../box/box-port.ts";
import { shellGraceMs, shellStopMaxMs, stopAttemptsMax, stopRetryMs } from "./limits.ts";

export interface StopWatch {
  readonly executionId: ExecutionId;
  /** aborts when the turn is interrupted */
  readonly interrupted: AbortSignal;
  /** aborts when the end of the execution has been read, or reading failed */
  readonly ended: AbortSignal;
  /** how long to wait for the end at all, in `ms` */
  readonly endMaxMs: number;
}

export type WatchedEnd =
  /** the end was read, or it stays away for longer than can be waited for */
  | { readonly kind: "over" }
  /** the stop was sent; `failure` is set when it couldn't be delivered */
  | { readonly kind: "stopped"; readonly failure: unknown };

/** Resolves when there is nothing more to wait for. Never rejects: it runs beside the reader. */
export async function watchForStop(
  deps: { readonly box: BoxPort; readonly clock: Clock },
  watch: StopWatch,
): Promise<WatchedEnd> {
  await deps.clock.sleep(watch.endMaxMs, AbortSignal.any([watch.interrupted, watch.ended]));
  if (watch.ended.aborted || !watch.interrupted.aborted) return { kind: "over" };
  const failure = await sendStop(deps, watch);
  if (failure === undefined) await deps.clock.sleep(shellGraceMs + shellStopMaxMs, watch.ended);
  return { kind: "stopped", failure };
}

/** A daemon that is just restarting must not let an interrupted command run on, so the stop is tried a few times. */
async function sendStop(
  { box, clock }: { readonly box: BoxPort; readonly clock: Clock },
  watch: StopWatch,
): Promise<unknown> {
  let failure: unknown;
  for (let attempt = 1; attempt <= stopAttemptsMax && !watch.ended.aborted; attempt += 1) {
    try {
      // A refusal means that nothing is left to stop; the reader learns how it ended.
      await box.signal(watch.executionId, { name: "SIGTERM", scope: "tree", killAfterMs: shellGraceMs });
      return undefined;
    } catch (error) {
      failure = error;
      if (!(error instanceof BoxError) || error.code !== "box/unavailable") return failure;
      await clock.sleep(stopRetryMs, watch.ended);
    }
  }
  return watch.ended.aborted ? undefined : failure;
}
