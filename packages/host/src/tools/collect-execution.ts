/**
 * Reads an execution from its first byte to its end and keeps what a result may show. It always begins at offset 0,
 * so a call that an earlier process began is collected as if nothing had happened.
 *
 * The box re-attaches by itself while the daemon restarts. What is thrown from here means that the end isn't known.
 */
import type { ToolContext } from "@sand/agent-core";
import { BoxError, type Clock, type ExecutionId } from "@sand/protocol";
import { type BoxPort, type ExecutionEvent, type ExitFacts, startCursor } from "../box/box-port.ts";
import { type CapturedOutput, createOutputCapture } from "./capture-output.ts";
import { createLiveOutput } from "./live-output.ts";
import { createStreamMerger, type MergedPart } from "./merge-streams.ts";
import { watchForStop } from "./stop-execution.ts";

export type ExecutionEnd =
  | { readonly kind: "exited"; readonly exit: ExitFacts }
  /** the box has no record of how it ended */
  | { readonly kind: "unknown"; readonly reason: string }
  /** the box doesn't know this id (any more) */
  | { readonly kind: "forgotten" }
  /** it was told to stop, and no end was reported within the limit */
  | { readonly kind: "unconfirmed" };

export interface CollectedExecution {
  readonly end: ExecutionEnd;
  readonly output: CapturedOutput;
  readonly lossy: boolean;
  /** something that the command started still holds its output open */
  readonly leftOpen: boolean;
  /** the stop was sent because the turn was interrupted */
  readonly interrupted: boolean;
}

interface CollectRequest {
  readonly executionId: ExecutionId;
  readonly context: ToolContext;
  /** how long to wait for the end, in `ms` */
  readonly endMaxMs: number;
  /** the whole run, when it is known already; else empty */
  readonly events: readonly ExecutionEvent[];
}

export async function collectExecution(
  deps: { readonly box: BoxPort; readonly clock: Clock },
  request: CollectRequest,
): Promise<CollectedExecution> {
  return takeKnown(deps.clock, request) ?? (await attachAndCollect(deps, request));
}

function takeKnown(clock: Clock, { context, events }: CollectRequest): CollectedExecution | undefined {
  if (events.at(-1)?.kind !== "closed") return undefined;
  const reader = createReader(clock, context);
  for (const event of events) reader.take(event);
  const { end, ...read } = reader.finish();
  return end === undefined ? undefined : { ...read, end, interrupted: false };
}

async function attachAndCollect(
  deps: { readonly box: BoxPort; readonly clock: Clock },
  request: CollectRequest,
): Promise<CollectedExecution> {
  const ended = new AbortController();
  const reading = new AbortController();
  const watching = watchForStop(deps, {
    executionId: request.executionId,
    interrupted: request.context.signal,
    ended: ended.signal,
    endMaxMs: request.endMaxMs,
  }).then((watched) => {
    reading.abort();
    return watched;
  });
  const reader = createReader(deps.clock, request.context);
  try {
    for await (const event of deps.box.attach(request.executionId, startCursor, reading.signal))
      reader.take(event);
  } catch (error) {
    if (isUnknownExecution(error)) reader.forget();
    else if (!reading.signal.aborted) throw error;
  } finally {
    ended.abort();
  }
  const watched = await watching;
  const read = reader.finish();
  if (watched.kind === "stopped" && read.end === undefined && watched.failure !== undefined)
    throw asUnavailable(watched.failure);
  const end = read.end ?? (watched.kind === "stopped" ? { kind: "unconfirmed" as const } : undefined);
  if (end === undefined) throw new BoxError("box/unavailable", "the box didn't report how the command ended");
  return { ...read, end, interrupted: watched.kind === "stopped" };
}

function createReader(clock: Clock, context: ToolContext) {
  const capture = createOutputCapture();
  const merger = createStreamMerger();
  const live = createLiveOutput(clock, context.onOutput);
  let end: ExecutionEnd | undefined;
  let leftOpen = false;

  function keep(parts: readonly MergedPart[]): void {
    for (const part of parts) {
      if (part.kind === "gap") {
        capture.addGap(part.bytes, part.reason);
      } else {
        capture.add(part.text);
        live.show(part.text);
      }
    }
  }

  return {
    take(event: ExecutionEvent): void {
      keep(merger.take(event));
      if (event.kind === "exited") end = { kind: "exited", exit: event.exit };
      if (event.kind === "unknown") end = { kind: "unknown", reason: event.reason };
      if (event.kind === "closed") leftOpen = event.leftOpen;
    },
    forget(): void {
      end ??= { kind: "forgotten" };
    },
    finish() {
      keep(merger.flush());
      return { end, output: capture.finish(), lossy: merger.lossy(), leftOpen };
    },
  };
}

function isUnknownExecution(error: unknown): boolean {
  return error instanceof BoxError && error.code === "exec/unknown-execution";
}

function asUnavailable(failure: unknown): BoxError {
  if (failure instanceof BoxError) return failure;
  return new BoxError("box/unavailable", "the interrupted command couldn't be told to stop", {
    cause: failure,
  });
}
