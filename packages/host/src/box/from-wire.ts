/** From the wire's messages to the port's types. Unknown enum values come from a newer daemon and are bugs to notice. */
import { type AgentId, BoxError, brandId, type ExecutionId, type TurnId } from "@sand/protocol";
import {
  type Cursor,
  type Event,
  type Execution,
  ExecutionState,
  type Exited,
  type FileInfo,
  FileType,
  Stream,
} from "@sand/protocol/exec";
import type { FileFacts } from "./box-files-port.ts";
import type {
  ExecutionEvent,
  ExecutionStatus,
  ExecutionView,
  ExitFacts,
  ExitReason,
  OutputCursor,
  OutputStream,
} from "./box-port.ts";

export function toExecutionView(message: Execution | undefined): ExecutionView {
  if (message === undefined) throw malformed("an answer without an execution");
  return {
    executionId: brandId<ExecutionId>(message.processId),
    status: toStatus(message),
    pid: message.pid,
    pgid: message.pgid,
    startTime: message.startTime,
    background: message.background,
    sandboxed: message.sandboxed,
    acceptedAtMs: Number(message.acceptedAtMs),
    stdoutBytes: Number(message.stdoutBytes),
    stderrBytes: Number(message.stderrBytes),
    closed: message.closed,
    leftOpen: message.leftOpen,
    lineage: {
      agentId: brandId<AgentId>(message.lineage?.agentId ?? ""),
      turnId: brandId<TurnId>(message.lineage?.turnId ?? ""),
    },
  };
}

function toStatus(message: Execution): ExecutionStatus {
  switch (message.state) {
    case ExecutionState.PENDING:
      return { state: "pending" };
    case ExecutionState.RUNNING:
      return { state: "running" };
    case ExecutionState.EXITED:
      if (message.exited === undefined) throw malformed("an end without its facts");
      return { state: "exited", exit: toExit(message.exited) };
    case ExecutionState.UNKNOWN:
      return { state: "unknown", reason: message.unknownReason };
    case ExecutionState.UNSPECIFIED:
      throw malformed("an execution without a state");
  }
}

function toExit(message: Exited): ExitFacts {
  return {
    code: message.code ?? null,
    signal: message.signal ?? null,
    timedOut: message.timedOut,
    oomKilled: message.oomKilled,
    reason: toReason(message.reason),
    message: message.message,
    endedAtMs: Number(message.endedAtMs),
  };
}

const exitReasons: readonly ExitReason[] = ["exited", "signaled", "timed-out", "spawn-failed"];

function toReason(text: string): ExitReason {
  const reason = exitReasons.find((candidate) => candidate === text);
  if (reason === undefined) throw malformed("an end for an unknown reason");
  return reason;
}

/** Undefined for a kind that this host doesn't know; a newer daemon may send one. */
export function toEvent(message: Event | undefined): ExecutionEvent | undefined {
  if (message === undefined) return undefined;
  const seq = Number(message.seq);
  const { kind } = message;
  switch (kind.case) {
    case "started":
      return {
        kind: "started",
        seq,
        pid: kind.value.pid,
        pgid: kind.value.pgid,
        startTime: kind.value.startTime,
      };
    case "output":
      return {
        kind: "output",
        seq,
        stream: toStream(kind.value.stream),
        offset: Number(kind.value.offset),
        bytes: kind.value.data,
      };
    case "gap": {
      const { from, to, reason } = kind.value;
      return {
        kind: "gap",
        seq,
        stream: toStream(kind.value.stream),
        from: Number(from),
        to: Number(to),
        reason,
      };
    }
    case "exited":
      return { kind: "exited", seq, exit: toExit(kind.value) };
    case "unknown":
      return { kind: "unknown", seq, reason: kind.value.reason };
    case "closed":
      return { kind: "closed", seq, leftOpen: kind.value.leftOpen };
    case "keepalive":
      return { kind: "keepalive", seq };
    case undefined:
      return undefined;
  }
}

function toStream(stream: Stream): OutputStream {
  return stream === Stream.STDERR ? "stderr" : "stdout";
}

export function toCursor(message: Cursor | undefined): OutputCursor {
  return {
    seq: Number(message?.seq ?? 0),
    stdout: Number(message?.stdout ?? 0),
    stderr: Number(message?.stderr ?? 0),
  };
}

/** Where a reader is after an event. */
export function advanceCursor(cursor: OutputCursor, event: ExecutionEvent): OutputCursor {
  const seq = Math.max(cursor.seq, event.seq);
  if (event.kind === "output") return { ...cursor, seq, [event.stream]: event.offset + event.bytes.length };
  return event.kind === "gap" ? { ...cursor, seq, [event.stream]: event.to } : { ...cursor, seq };
}

const fileTypes = {
  [FileType.UNSPECIFIED]: "other",
  [FileType.FILE]: "file",
  [FileType.DIRECTORY]: "directory",
  [FileType.SYMLINK]: "symlink",
  [FileType.OTHER]: "other",
} as const;

export function toFileFacts(message: FileInfo | undefined): FileFacts {
  if (message === undefined) throw malformed("an answer without a file");
  return {
    path: message.path,
    type: fileTypes[message.type],
    sizeBytes: Number(message.sizeBytes),
    mode: message.mode,
    modifiedAtMs: Number(message.modifiedAtMs),
    linkTarget: message.linkTarget ?? null,
  };
}

function malformed(what: string): BoxError {
  return new BoxError("box/unavailable", `the exec-daemon sent ${what}`);
}
