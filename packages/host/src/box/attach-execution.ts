/**
 * A live stream of an execution's events that survives the daemon: when the connection breaks, it attaches again from
 * where it was, and asks for the daemon to be brought back. Silence longer than the daemon's keepalives allow counts as
 * a broken connection. Nothing is given twice and nothing is left out, or a gap says so.
 */
import type { Client } from "@connectrpc/connect";
import { BoxError, type Clock, type ExecutionId } from "@sand/protocol";
import type { AttachResponse, Processes } from "@sand/protocol/exec";
import { toBoxError } from "./box-call.ts";
import type { ExecutionEvent, OutputCursor } from "./box-port.ts";
import { advanceCursor, toEvent } from "./from-wire.ts";

export interface AttachDeps {
  readonly processes: () => Client<typeof Processes>;
  readonly clock: Clock;
  /** Brings the daemon back, or doesn't; never throws. */
  readonly recover: (signal: AbortSignal) => Promise<void>;
}

/** how long it may be unreachable before the caller is told */
const outageMaxMs = 45_000;
const retryDelayMs = 200;
/** several keepalives of the daemon, which come after 5 s of silence */
const silenceMaxMs = 30_000;
/** how long the answer may take to end after its last event */
const endMaxMs = 1_000;

export async function* attachExecution(
  deps: AttachDeps,
  id: ExecutionId,
  after: OutputCursor,
  signal: AbortSignal,
): AsyncGenerator<ExecutionEvent> {
  let cursor = after;
  let brokenSinceMs: number | undefined;
  let isClosed = false;
  while (!signal.aborted && !isClosed) {
    try {
      // Read to its end also behind the last event: an answer that is left before it costs its connection.
      for await (const message of readStream(deps.processes(), id, cursor, signal)) {
        brokenSinceMs = undefined;
        const event = toEvent(message.event);
        if (!isNews(event, cursor)) continue;
        cursor = advanceCursor(cursor, event);
        isClosed ||= event.kind === "closed";
        yield event;
      }
    } catch (error) {
      if (isClosed || signal.aborted) return;
      const failure = toBoxError(error);
      if (failure.code !== "box/unavailable") throw failure;
      brokenSinceMs ??= deps.clock.nowMs();
      if (deps.clock.nowMs() - brokenSinceMs > outageMaxMs) throw failure;
    }
    if (isClosed || signal.aborted) return;
    brokenSinceMs ??= deps.clock.nowMs();
    await deps.clock.sleep(retryDelayMs, signal);
    await deps.recover(signal);
  }
}

/** `started` opens every attach, and `closed` is repeated to one who has it: to a reader who goes on, both are old. */
function isNews(event: ExecutionEvent | undefined, cursor: OutputCursor): event is ExecutionEvent {
  if (event === undefined) return false;
  if (event.kind === "keepalive" || event.kind === "closed" || event.kind === "gap") return true;
  if (event.kind === "output") return event.offset + event.bytes.length > cursor[event.stream];
  return event.seq > cursor.seq;
}

async function* readStream(
  processes: Client<typeof Processes>,
  processId: ExecutionId,
  cursor: OutputCursor,
  signal: AbortSignal,
): AsyncGenerator<AttachResponse> {
  const silence = new AbortController();
  const arm = (ms: number): NodeJS.Timeout => setTimeout(() => silence.abort("silence"), ms);
  let timer = arm(silenceMaxMs);
  const after = { seq: BigInt(cursor.seq), stdout: BigInt(cursor.stdout), stderr: BigInt(cursor.stderr) };
  try {
    const stream = processes.attach(
      { processId, after },
      { signal: AbortSignal.any([signal, silence.signal]) },
    );
    for await (const message of stream) {
      clearTimeout(timer);
      yield message;
      timer = arm(message.event?.kind.case === "closed" ? endMaxMs : silenceMaxMs);
    }
  } catch (error) {
    if (silence.signal.aborted && !signal.aborted)
      throw new BoxError("box/unavailable", "the exec-daemon fell silent", { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
