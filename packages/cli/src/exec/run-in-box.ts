/**
 * A command in the box as if it ran here: its output is ours, byte for byte, our input and our signals are its, and
 * its exit status becomes ours.
 *
 * It ends with us: Ctrl-C and TERM are passed on as TERM to its group, a second Ctrl-C kills it with all that descends
 * from it, and a reader that closes our output ends it like a closed pipe would. A third Ctrl-C leaves, whatever the
 * daemon says.
 */
import { CommandFailure } from "../command-failure.ts";
import {
  type BoxCommand,
  type BoxExecution,
  type BoxExecutionDeps,
  type SignalScope,
  startInBox,
} from "./box-execution.ts";
import {
  type ExecEnd,
  type ExecEvent,
  exitStatusOf,
  notStartedStatus,
  type OutputName,
} from "./exec-event.ts";
import { feedInput } from "./feed-input.ts";
import { createRawOutput, type RawOutput } from "./raw-output.ts";

export interface RunInBoxOptions extends Omit<BoxExecutionDeps, "signal"> {
  readonly command: BoxCommand;
  readonly json: boolean;
  readonly note: (text: string) => void;
}

const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const readerGoneGraceMs = 2_000;

/** Resolves with the exit status for `sand` itself. */
export async function runInBox(options: RunInBoxOptions): Promise<number> {
  const stop = createStop(options.note);
  for (const signal of passedOn) process.on(signal, stop.onSignal);
  try {
    const execution = await startInBox(options.command, { ...options, signal: stop.left });
    stop.attach(execution);
    return await passThrough(execution, options, stop);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.failureCode !== "exec/spawn-failed") throw error;
    options.note(`sand: ${error.message}`);
    return notStartedStatus;
  } finally {
    for (const signal of passedOn) process.off(signal, stop.onSignal);
  }
}

async function passThrough(execution: BoxExecution, options: RunInBoxOptions, stop: Stop): Promise<number> {
  const { stdin } = options.command;
  let isOver = false;
  const input = stdin ? feedInput(execution, process.stdin, () => isOver) : Promise.resolve();
  const fed = input.catch((error: unknown) => {
    stop.end();
    throw error;
  });
  // It is looked at once the command is over.
  fed.catch(() => undefined);
  let status: number;
  try {
    status = await showEvents(execution, options, stop.onReaderGone);
  } finally {
    isOver = true;
    // A pipe whose writer stays would keep this program alive.
    if (stdin) process.stdin.destroy();
  }
  await fed;
  // What is left behind is removed by age as well.
  await execution.forget().catch(() => undefined);
  return status;
}

interface Stop {
  /** from now on there is something to stop; what was asked for before is done now */
  attach(execution: BoxExecution): void;
  onSignal(): void;
  onReaderGone(): void;
  end(): void;
  /** aborted when the person wants to leave at once */
  readonly left: AbortSignal;
}

function createStop(note: (text: string) => void): Stop {
  const leaving = new AbortController();
  let execution: BoxExecution | undefined;
  let asked = 0;
  const send = (name: NodeJS.Signals, scope: SignalScope, killAfterMs?: number): void => {
    execution?.signal(name, scope, killAfterMs).catch((error: unknown) => {
      note(`sand: the command wasn't signalled: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  const end = (): void => send("SIGTERM", "SIGNAL_SCOPE_GROUP");
  return {
    end,
    left: leaving.signal,
    onReaderGone: () => send("SIGPIPE", "SIGNAL_SCOPE_TREE", readerGoneGraceMs),
    attach: (started) => {
      execution = started;
      if (asked > 0) end();
    },
    onSignal: () => {
      asked += 1;
      if (asked === 1) end();
      else if (asked === 2) send("SIGKILL", "SIGNAL_SCOPE_TREE");
      else leaving.abort();
    },
  };
}

async function showEvents(
  execution: BoxExecution,
  { json, note }: RunInBoxOptions,
  onReaderGone: () => void,
): Promise<number> {
  const outputs = {
    stdout: createRawOutput(process.stdout, onReaderGone),
    stderr: createRawOutput(process.stderr, onReaderGone),
  };
  const show = json ? createJsonView(outputs.stdout) : createRawView(outputs, note);
  let end: ExecEnd | undefined;
  let lost = false;
  for await (const event of execution.events()) {
    if (event.kind === "exited") end = event.end;
    if (event.kind === "gap") lost = true;
    await show(event);
    if (event.kind === "unknown") {
      throw new CommandFailure("failed", `how the command ended isn't known: ${event.reason}`);
    }
  }
  if (end === undefined) throw new CommandFailure("failed", "the daemon doesn't say how the command ended");
  const status = exitStatusOf(end);
  // Whoever keeps the output must learn that it isn't whole.
  return status === 0 && lost ? 1 : status;
}

type View = (event: ExecEvent) => Promise<void>;

function createRawView(outputs: Readonly<Record<OutputName, RawOutput>>, note: (text: string) => void): View {
  return async (event) => {
    if (event.kind === "output") await outputs[event.stream].write(event.bytes);
    if (event.kind === "gap")
      note(`sand: ${event.bytes} bytes of ${event.stream} came faster than they were read, and are lost`);
    if (event.kind === "exited" && event.end.timedOut) note("sand: the command ran out of its time");
  };
}

function createJsonView(stdout: RawOutput): View {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const describe = (event: ExecEvent): unknown => {
    if (event.kind === "exited") return { kind: event.kind, ...event.end };
    if (event.kind !== "output") return event;
    const { stream, bytes } = event;
    return { kind: event.kind, stream, text: decoders[stream].decode(bytes, { stream: true }) };
  };
  return async (event) => {
    await stdout.write(`${JSON.stringify(describe(event))}\n`);
  };
}
