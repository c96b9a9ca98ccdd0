/**
 * A command in the box as if it ran here: its output is ours, byte for byte, our input and our signals are its, and
 * its exit status becomes ours.
 *
 * It ends with us: Ctrl-C and TERM are passed on as TERM to its group, a second Ctrl-C kills it with all that descends
 * from it, and a reader that closes our output ends it like a closed pipe would.
 */
import { CommandFailure } from "../command-failure.ts";
import { type BoxCommand, type BoxExecution, type BoxExecutionDeps, startInBox } from "./box-execution.ts";
import {
  type ExecEnd,
  type ExecEvent,
  exitStatusOf,
  notStartedStatus,
  type OutputName,
} from "./exec-event.ts";
import { feedInput } from "./feed-input.ts";
import { createRawOutput, type RawOutput } from "./raw-output.ts";

export interface RunInBoxOptions extends BoxExecutionDeps {
  readonly command: BoxCommand;
  readonly json: boolean;
  readonly note: (text: string) => void;
}

const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const readerGoneGraceMs = 2_000;

/** Resolves with the exit status for `sand` itself. */
export async function runInBox(options: RunInBoxOptions): Promise<number> {
  const execution = await startInBox(options.command, options).catch((error: unknown) => {
    if (!(error instanceof CommandFailure) || error.failureCode !== "exec/spawn-failed") throw error;
    options.note(`sand: ${error.message}`);
    return notStartedStatus;
  });
  if (typeof execution === "number") return execution;
  let isOver = false;
  const stop = createStop(execution, options.note);
  for (const signal of passedOn) process.on(signal, stop.onSignal);
  const input = options.command.stdin ? feedInput(execution, process.stdin, () => isOver) : Promise.resolve();
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
    if (options.command.stdin) process.stdin.destroy();
    for (const signal of passedOn) process.off(signal, stop.onSignal);
    // What it leaves behind is removed by age as well.
    await execution.forget().catch(() => undefined);
  }
  await fed;
  return status;
}

interface Stop {
  onSignal(): void;
  onReaderGone(): void;
  end(): void;
}

function createStop(execution: BoxExecution, note: (text: string) => void): Stop {
  let asked = 0;
  const send = (sent: Promise<void>): void => {
    sent.catch((error: unknown) => {
      note(`the command could not be signalled: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  const end = (): void => send(execution.signal("SIGTERM", "SIGNAL_SCOPE_GROUP"));
  return {
    end,
    onReaderGone: () => send(execution.signal("SIGPIPE", "SIGNAL_SCOPE_TREE", readerGoneGraceMs)),
    onSignal: () => {
      asked += 1;
      if (asked === 1) end();
      else send(execution.signal("SIGKILL", "SIGNAL_SCOPE_TREE"));
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
