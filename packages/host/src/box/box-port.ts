/**
 * The host's view of the box: what tools and turns may ask of the exec-daemon. Pure types, so that a tool's test can
 * bring its own box.
 *
 * Expected refusals come back as `{ outcome: "refused", code }` with a code of the error table. What is thrown is a
 * `BoxError`: `box/unavailable` when no daemon answers, `box/unauthorized` when it doesn't take our token, and the
 * abort reason of a given signal. Every call has its own deadline and none of them ends a command: a lost answer
 * means asking again under the same execution id.
 */
import type { AgentId, ErrorCode, ExecutionId, TurnId } from "@sand/protocol";
import type { BoxFiles, Refused } from "./box-files-port.ts";

/** what to run: a text for the shell, or a program with its arguments */
export type CommandSpec =
  | { readonly kind: "shell"; readonly text: string }
  | { readonly kind: "argv"; readonly argv: readonly string[] };

/** Every field is part of the digest of the start: the same id with another value is a conflict. */
export interface StartSpec {
  readonly executionId: ExecutionId;
  readonly command: CommandSpec;
  /** absolute, or relative to the workspace; null is the workspace itself */
  readonly cwd: string | null;
  /** added to the clean environment of every command */
  readonly env: Readonly<Record<string, string>>;
  /** the account to run as; null is the daemon's default for commands. Another one is `exec/unsupported` here. */
  readonly user: string | null;
  /** true is `exec/unsupported` until terminals are built */
  readonly tty: boolean;
  /** false: the command reads end of file at once */
  readonly stdin: boolean;
  readonly sandbox: SandboxRequest;
  readonly display: string | null;
  readonly lineage: { readonly agentId: AgentId; readonly turnId: TurnId };
  /** told to people and kept with the execution; a background command has no limit but its own `killMs` */
  readonly background: boolean;
  /** life limit: TERM, a grace, then KILL to the whole group; null is none */
  readonly killMs: number | null;
}

/** What this run may touch beyond the daemon's own policy; it can add folders, never open what the daemon masks. */
export interface SandboxRequest {
  readonly writableRoots: readonly string[];
  readonly maskedPaths: readonly string[];
}

export type ExitReason = "exited" | "signaled" | "timed-out" | "spawn-failed";

export interface ExitFacts {
  /** null when a signal ended it. 127: not found, 126: not executable */
  readonly code: number | null;
  /** for instance `SIGKILL` */
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly reason: ExitReason;
  /** text for people when it never ran, otherwise empty */
  readonly message: string;
  readonly endedAtMs: number;
}

export type ExecutionStatus =
  /** accepted, but no process was ever started for it: starting it again is safe */
  | { readonly state: "pending" }
  | { readonly state: "running" }
  | { readonly state: "exited"; readonly exit: ExitFacts }
  /** no exit record exists and the process is gone: it may have done its work or not */
  | { readonly state: "unknown"; readonly reason: string };

export interface ExecutionView {
  readonly executionId: ExecutionId;
  readonly status: ExecutionStatus;
  /** 0 when no process was started */
  readonly pid: number;
  readonly pgid: number;
  /** field 22 of `/proc/<pid>/stat`: with it a reused pid can't be mistaken */
  readonly startTime: string;
  readonly background: boolean;
  readonly sandboxed: boolean;
  readonly acceptedAtMs: number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** every output stream is at its end, or the drain limit was hit */
  readonly closed: boolean;
  /** closed while something else still held a stream open */
  readonly leftOpen: boolean;
  readonly lineage: { readonly agentId: AgentId; readonly turnId: TurnId };
}

export interface StartOptions {
  readonly signal?: AbortSignal;
  readonly settleMs?: number;
}

export type StartOutcome =
  /** `existing`: this id with this body was started before; it was not started again */
  | {
      readonly outcome: "started";
      readonly existing: boolean;
      readonly execution: ExecutionView;
      /** the whole run from `started` to `closed`, when it ended within the wait and is small; else empty */
      readonly events: readonly ExecutionEvent[];
    }
  | Refused;

export type OutputStream = "stdout" | "stderr";

/** Where a reader is: it has every event up to `seq`, and every byte below the offsets. `startCursor` is the beginning. */
export interface OutputCursor {
  readonly seq: number;
  readonly stdout: number;
  readonly stderr: number;
}

export const startCursor: OutputCursor = Object.freeze({ seq: 0, stdout: 0, stderr: 0 });

/**
 * One event of an execution. `seq` counts per execution: an event's is one more than the one before, or a `gap` says
 * what is missing. `started` comes first on every attach, `closed` last. A `gap` carries the seq that it reaches to.
 */
export type ExecutionEvent =
  | {
      readonly kind: "started";
      readonly seq: number;
      readonly pid: number;
      readonly pgid: number;
      readonly startTime: string;
    }
  | {
      readonly kind: "output";
      readonly seq: number;
      readonly stream: OutputStream;
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: "gap";
      readonly seq: number;
      readonly stream: OutputStream;
      readonly from: number;
      readonly to: number;
      readonly reason: string;
    }
  | { readonly kind: "exited"; readonly seq: number; readonly exit: ExitFacts }
  | { readonly kind: "unknown"; readonly seq: number; readonly reason: string }
  | { readonly kind: "closed"; readonly seq: number; readonly leftOpen: boolean }
  | { readonly kind: "keepalive"; readonly seq: number };

export interface ReadPage {
  readonly outcome: "ok";
  readonly events: readonly ExecutionEvent[];
  /** pass it to the next read or attach */
  readonly cursor: OutputCursor;
  /** nothing will follow after this page */
  readonly ended: boolean;
}

export type SignalScope = "leader" | "group" | "tree";

export interface SignalRequest {
  /** for instance `SIGTERM` */
  readonly name: string;
  readonly scope: SignalScope;
  /** with TERM: KILL follows after this long, in `ms`; null sends no KILL */
  readonly killAfterMs: number | null;
}

export type StdinOutcome =
  | { readonly outcome: "accepted"; readonly nextOffset: number }
  /** the offset isn't where the stream stands; `nextOffset` is */
  | { readonly outcome: "wrong-offset"; readonly nextOffset: number }
  | { readonly outcome: "closed" }
  | Refused;

export interface BoxHealth {
  readonly pid: number;
  readonly bootId: string;
  readonly eventLoopDelayP99Ms: number;
  readonly openFds: number;
  /** executions that run now */
  readonly running: number;
  readonly workspaceRoot: string;
}

export interface BoxCapability {
  readonly name: string;
  readonly enforced: boolean;
  /** why it is missing; empty when it is there */
  readonly reason: string;
}

export interface BoxPort {
  ping(signal?: AbortSignal): Promise<BoxHealth>;
  capabilities(signal?: AbortSignal): Promise<readonly BoxCapability[]>;
  /** `settleMs`: how long the answer may wait for the end, so that a short run costs one call */
  start(spec: StartSpec, options?: StartOptions): Promise<StartOutcome>;
  /**
   * Every event after the cursor, live, until `closed`; ends early when the signal aborts. Re-attaches by itself
   * while the daemon restarts, and throws `box/unavailable` when that takes too long. An unknown id throws
   * `exec/unknown-execution`.
   */
  attach(id: ExecutionId, after: OutputCursor, signal: AbortSignal): AsyncIterable<ExecutionEvent>;
  /** The long-poll twin of attach: at most `bytesMax`, waiting up to `waitMs` for the first event. */
  read(
    id: ExecutionId,
    after: OutputCursor,
    page: { readonly waitMs: number; readonly bytesMax: number },
    signal?: AbortSignal,
  ): Promise<ReadPage | Refused>;
  /** Resolves when it is closed, or after `waitMs` with the state of that moment. */
  wait(
    id: ExecutionId,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: "ok"; readonly execution: ExecutionView } | Refused>;
  write(id: ExecutionId, offset: number, bytes: Uint8Array, signal?: AbortSignal): Promise<StdinOutcome>;
  closeStdin(id: ExecutionId, signal?: AbortSignal): Promise<StdinOutcome>;
  /** `delivered` false: there was nothing left to signal */
  signal(
    id: ExecutionId,
    request: SignalRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: "ok"; readonly delivered: boolean } | Refused>;
  list(signal?: AbortSignal): Promise<readonly ExecutionView[]>;
  /** Removes a finished execution and its output; `existed` false: there was none. A running one is refused. */
  forget(
    id: ExecutionId,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: "ok"; readonly existed: boolean } | Refused>;
  readonly files: BoxFiles;
}

/** whether there is a box to work in; `absent` is shown to people with its code and reason */
export type BoxState =
  | { readonly state: "ready"; readonly box: BoxPort }
  | { readonly state: "absent"; readonly code: ErrorCode; readonly reason: string };

/** Makes sure of a living box before a turn. One attempt at a time; all callers share it. */
export interface BoxKeeper {
  ensure(signal?: AbortSignal): Promise<BoxState>;
  /** the box that answered last, without looking again; `null` when none has answered yet */
  peek(): BoxPort | null;
  close(): Promise<void>;
}
