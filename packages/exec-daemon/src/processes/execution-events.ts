/**
 * Turns an execution's folder into its events from a cursor on: `started` first, then output in the order in which it
 * came, gaps where the spool has dropped something, `exited` (or `unknown`) and `closed` where their numbers say.
 *
 * Output rings from now on, also that of a command whose folder nobody has followed so far.
 *
 * The records are looked at before the spool. A keeper writes a record after the output with smaller numbers, so
 * whatever a seen record counts on is already there to be read.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Event, EventSchema, Stream } from "@sand/protocol/exec";
import { isSpoolDropped } from "../ledger/drop-spools.ts";
import { startedSeq } from "../ledger/execution-folder.ts";
import type { ClosedRecord, ExitRecord } from "../ledger/records.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import type { SpoolStream } from "../spool/frame.ts";
import { createSpoolReader, type SpoolFrame } from "../spool/spool-reader.ts";
import { toExited, toIdentity } from "./to-execution.ts";

export interface EventCursor {
  readonly seq: number;
  readonly stdout: number;
  readonly stderr: number;
}

export interface EventReader {
  /** The next events, about `bytesMax` of output; empty when there is nothing new yet. */
  read(bytesMax: number): readonly Event[];
  readonly cursor: EventCursor;
  /** `closed` was read: nothing follows */
  readonly ended: boolean;
  /** the segment of the spool that is read next, as far as that is known */
  readonly segment: number | undefined;
}

const streams: readonly SpoolStream[] = ["stdout", "stderr"];
const wireStream = { stdout: Stream.STDOUT, stderr: Stream.STDERR } as const;

export function createEventReader(execution: TrackedExecution, after: EventCursor): EventReader {
  execution.follow();
  const spool = createSpoolReader(execution.folder);
  const offsets = { stdout: after.stdout, stderr: after.stderr };
  let nextSeq = after.seq + 1;
  let hasStarted = false;
  let ended = false;
  let out: Event[] = [];

  function push(seq: number, kind: MessageInitShape<typeof EventSchema>["kind"]): void {
    out.push(create(EventSchema, { seq: BigInt(seq), ...(kind === undefined ? {} : { kind }) }));
  }

  function pushGap(stream: SpoolStream, to: number, seq: number, reason = "dropped from the spool"): void {
    if (to <= offsets[stream]) return;
    const value = {
      stream: wireStream[stream],
      from: BigInt(offsets[stream]),
      to: BigInt(to),
      reason,
    };
    push(seq, { case: "gap", value });
    offsets[stream] = to;
  }

  function pushFrame(frame: SpoolFrame): void {
    if (frame.seq > nextSeq)
      for (const stream of streams) pushGap(stream, frame.segment[stream], frame.seq - 1);
    pushGap(frame.stream, frame.offset, frame.seq - 1);
    nextSeq = frame.seq + 1;
    const known = offsets[frame.stream] - frame.offset;
    if (known >= frame.bytes.length) return;
    const offset = BigInt(frame.offset + known);
    push(frame.seq, {
      case: "output",
      value: { stream: wireStream[frame.stream], offset, data: frame.bytes.subarray(known) },
    });
    offsets[frame.stream] = frame.offset + frame.bytes.length;
  }

  function pushExit(exit: ExitRecord): void {
    if (exit.outcome === "known") push(exit.seq, { case: "exited", value: toExited(exit.exit) });
    else push(exit.seq, { case: "unknown", value: { reason: exit.reason } });
    nextSeq = exit.seq + 1;
  }

  function pushClosed(closed: ClosedRecord): void {
    const isMissing = closed.stdoutBytes > offsets.stdout || closed.stderrBytes > offsets.stderr;
    const reason =
      isMissing && isSpoolDropped(execution.folder) ? "dropped to make room for later output" : undefined;
    pushGap("stdout", closed.stdoutBytes, closed.seq - 1, reason);
    pushGap("stderr", closed.stderrBytes, closed.seq - 1, reason);
    push(closed.seq, { case: "closed", value: { leftOpen: closed.leftOpen } });
    nextSeq = Math.max(nextSeq, closed.seq + 1);
    ended = true;
  }

  function pushStarted(): void {
    push(startedSeq, { case: "started", value: toIdentity(execution) });
    hasStarted = true;
    nextSeq = Math.max(nextSeq, startedSeq + 1);
  }

  function readMore(bytesMax: number): void {
    const { exit, closed } = execution;
    const isDue = (seq: number): boolean => exit !== undefined && exit.seq >= nextSeq && exit.seq < seq;
    // Most short commands print nothing, and then there is no spool to look into.
    const isSilent = closed !== undefined && closed.stdoutBytes + closed.stderrBytes === 0;
    const frames = isSilent ? [] : spool.read(nextSeq, bytesMax);
    for (const frame of frames) {
      if (exit !== undefined && isDue(frame.seq)) pushExit(exit);
      pushFrame(frame);
    }
    // With frames read there may be more of them; without, the records are all that is left.
    const isAtEnd = frames.length === 0;
    if (exit !== undefined && (exit.seq === nextSeq || (isAtEnd && exit.seq > nextSeq))) pushExit(exit);
    if (closed !== undefined && (closed.seq === nextSeq || isAtEnd)) pushClosed(closed);
  }

  return {
    read(bytesMax) {
      out = [];
      if (ended) return out;
      if (!hasStarted) {
        if (execution.started === undefined && execution.exit === undefined) return out;
        pushStarted();
      }
      // Frames below the asked-for offsets give no event; an empty answer must mean that there is nothing new.
      for (let seen = -1; seen !== nextSeq && out.length <= 1 && !ended; ) {
        seen = nextSeq;
        readMore(bytesMax);
      }
      return out;
    },
    get cursor() {
      return { seq: nextSeq - 1, ...offsets };
    },
    get ended() {
      return ended;
    },
    get segment() {
      return spool.segment;
    },
  };
}
