/**
 * A box in memory for the tools' unit tests. A test decides what an execution emits and when; starts, signals and
 * writes are counted. It keeps the rules of the port that the tools rely on: one execution for an id, events from the
 * cursor on, a keyed write that is performed once.
 */
import { createHash } from "node:crypto";
import { BoxError, type ExecutionId } from "@sand/protocol";
import type { BoxFiles, FileContent, WriteFileOutcome, WriteFileSpec } from "../src/box/box-files-port.ts";
import type {
  BoxPort,
  ExecutionEvent,
  ExecutionView,
  ExitFacts,
  SignalRequest,
  StartSpec,
} from "../src/box/box-port.ts";

export interface ScriptedExecution {
  readonly spec: StartSpec;
  readonly signals: SignalRequest[];
  output(text: string | Uint8Array, stream?: "stdout" | "stderr"): void;
  gap(from: number, to: number): void;
  exit(exit?: Partial<ExitFacts>, leftOpen?: boolean): void;
  /** ends without an exit record */
  vanish(reason: string): void;
}

type BeginExecution = (execution: ScriptedExecution) => void;

export interface ScriptedBox {
  readonly box: BoxPort;
  execution(id: ExecutionId): ScriptedExecution | undefined;
  readonly files: Map<string, Buffer>;
  readonly starts: StartSpec[];
  readonly writes: WriteFileSpec[];
}

export const plainExit: ExitFacts = {
  code: 0,
  signal: null,
  timedOut: false,
  oomKilled: false,
  reason: "exited",
  message: "",
  endedAtMs: 0,
};

interface Live {
  readonly handle: ScriptedExecution;
  readonly events: ExecutionEvent[];
  exit: ExitFacts | undefined;
  closed: boolean;
  bytes: { stdout: number; stderr: number };
  wake: () => void;
  changed: Promise<void>;
}

/** `begin` runs at each real start; `onSignal` at each signal. */
export function createScriptedBox(
  begin: BeginExecution = () => {},
  onSignal: BeginExecution = (execution) =>
    execution.exit({ code: null, signal: "SIGTERM", reason: "signaled" }),
): ScriptedBox {
  const live = new Map<ExecutionId, Live>();
  const starts: StartSpec[] = [];
  const files = createScriptedFiles();
  const find = (id: ExecutionId): Live => {
    const found = live.get(id);
    if (found === undefined) throw new BoxError("exec/unknown-execution", `no execution ${id}`);
    return found;
  };
  const box = {
    ping: async () => ({ workspaceRoot: "/workspace" }),
    async start(spec: StartSpec) {
      const existing = live.get(spec.executionId);
      if (existing !== undefined)
        return { outcome: "started" as const, existing: true, execution: viewOf(existing), events: [] };
      const created = createLive(spec);
      live.set(spec.executionId, created);
      starts.push(spec);
      begin(created.handle);
      return { outcome: "started" as const, existing: false, execution: viewOf(created), events: [] };
    },
    async *attach(id: ExecutionId, after: { readonly seq: number }, signal: AbortSignal) {
      const execution = find(id);
      const aborted = new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      for (let next = after.seq; !signal.aborted; ) {
        const event = execution.events[next];
        if (event !== undefined) {
          next += 1;
          yield event;
        } else if (execution.closed) {
          return;
        } else {
          await Promise.race([execution.changed, aborted]);
        }
      }
    },
    async read(id: ExecutionId, after: { readonly seq: number }, page: { readonly bytesMax: number }) {
      const execution = find(id);
      const events: ExecutionEvent[] = [];
      let bytes = 0;
      for (
        let next = after.seq;
        next < execution.events.length && (bytes < page.bytesMax || events.length === 0);
        next += 1
      ) {
        const event = execution.events[next];
        if (event === undefined) break;
        events.push(event);
        bytes += event.kind === "output" ? event.bytes.length : 0;
      }
      const seq = after.seq + events.length;
      const ended = execution.closed && seq === execution.events.length;
      return { outcome: "ok" as const, events, cursor: { seq, stdout: 0, stderr: 0 }, ended };
    },
    async wait(id: ExecutionId) {
      const execution = live.get(id);
      if (execution === undefined)
        return {
          outcome: "refused" as const,
          code: "exec/unknown-execution" as const,
          message: "no such execution",
        };
      return { outcome: "ok" as const, execution: viewOf(execution) };
    },
    async signal(id: ExecutionId, request: SignalRequest) {
      const { handle } = find(id);
      handle.signals.push(request);
      onSignal(handle);
      return { outcome: "ok" as const, delivered: true };
    },
    files: files.port,
  };
  return {
    // Only what the tools use is built; a test that reaches for more fails loudly.
    box: box as unknown as BoxPort,
    execution: (id) => live.get(id)?.handle,
    files: files.contents,
    starts,
    writes: files.writes,
  };
}

function createLive(spec: StartSpec): Live {
  const events: ExecutionEvent[] = [
    { kind: "started", seq: 1, pid: 4_000_000, pgid: 4_000_000, startTime: "1" },
  ];
  const push = (make: (seq: number) => ExecutionEvent): void => {
    events.push(make(events.length + 1));
    state.wake();
  };
  const state: Live = {
    events,
    exit: undefined,
    closed: false,
    bytes: { stdout: 0, stderr: 0 },
    wake: () => {},
    changed: Promise.resolve(),
    handle: {
      spec,
      signals: [],
      output(text, stream = "stdout") {
        const bytes = typeof text === "string" ? Buffer.from(text) : text;
        push((seq) => ({ kind: "output", seq, stream, offset: state.bytes[stream], bytes }));
        state.bytes[stream] += bytes.length;
      },
      gap(from, to) {
        push((seq) => ({ kind: "gap", seq, stream: "stdout", from, to, reason: "dropped from the spool" }));
        state.bytes.stdout = to;
      },
      exit(exit = {}, leftOpen = false) {
        const facts = { ...plainExit, ...exit };
        state.exit = facts;
        push((seq) => ({ kind: "exited", seq, exit: facts }));
        state.closed = true;
        push((seq) => ({ kind: "closed", seq, leftOpen }));
      },
      vanish(reason) {
        push((seq) => ({ kind: "unknown", seq, reason }));
        state.closed = true;
        push((seq) => ({ kind: "closed", seq, leftOpen: false }));
      },
    },
  };
  const rearm = (): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    state.changed = promise;
    state.wake = () => {
      resolve();
      rearm();
    };
  };
  rearm();
  return state;
}

function viewOf(execution: Live): ExecutionView {
  const { spec } = execution.handle;
  return {
    executionId: spec.executionId,
    status: execution.exit === undefined ? { state: "running" } : { state: "exited", exit: execution.exit },
    pid: 4_000_000,
    pgid: 4_000_000,
    startTime: "1",
    background: spec.background,
    sandboxed: false,
    acceptedAtMs: 0,
    stdoutBytes: execution.bytes.stdout,
    stderrBytes: execution.bytes.stderr,
    closed: execution.closed,
    leftOpen: false,
    lineage: spec.lineage,
  };
}

function createScriptedFiles() {
  const contents = new Map<string, Buffer>();
  const writes: WriteFileSpec[] = [];
  const journal = new Map<string, string>();
  const missing = { outcome: "refused" as const, code: "file/not-found" as const, message: "no such file" };
  const port: Pick<BoxFiles, "read" | "write"> = {
    async read(path, range): Promise<FileContent | typeof missing> {
      const whole = contents.get(path);
      if (whole === undefined) return missing;
      const end = range.lengthMax === null ? whole.length : range.offset + range.lengthMax;
      const bytes = whole.subarray(range.offset, end);
      return {
        outcome: "ok",
        path,
        bytes,
        offset: range.offset,
        totalBytes: whole.length,
        sha256: hash(whole),
        binary: bytes.includes(0),
      };
    },
    async write(spec): Promise<WriteFileOutcome> {
      writes.push(spec);
      const current = contents.get(spec.path);
      const before = current === undefined ? "absent" : hash(current);
      const facts = {
        sha256: hash(spec.bytes),
        sizeBytes: spec.bytes.length,
        created: current === undefined,
      };
      const known = journal.get(spec.operationId);
      if (known !== undefined && known !== facts.sha256) {
        return { outcome: "refused", code: "exec/key-conflict", message: "another write had this id" };
      }
      if (known !== undefined) return { outcome: "written", existing: true, ...facts };
      const wanted = wantedHash(spec);
      if (wanted !== undefined && wanted !== before) {
        return { outcome: "refused", code: "file/precondition", message: `the file is ${before}` };
      }
      journal.set(spec.operationId, facts.sha256);
      contents.set(spec.path, Buffer.from(spec.bytes));
      return { outcome: "written", existing: false, ...facts };
    },
  };
  return { contents, writes, port };
}

function wantedHash({ precondition }: WriteFileSpec): string | undefined {
  switch (precondition.kind) {
    case "any":
      return undefined;
    case "absent":
      return "absent";
    case "sha256":
      return precondition.sha256;
  }
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
