/** A command: an execution of the daemon's ledger, spoken to by the daemon's own service. */
import type { Client } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import { createKeyedMutex } from "@sand/node-kit";
import {
  type Event,
  type Execution,
  ExecutionState,
  type Processes,
  SignalScope,
  StdinState,
  Stream,
} from "@sand/protocol/exec";
import type { EndFacts } from "./describe-end.ts";
import type { ProcessConfig } from "./process-labels.ts";
import type { ProcessOutput, RunningProcess } from "./running-process.ts";

export type ProcessesClient = Client<typeof Processes>;

export type OpenCommand = (
  execution: Pick<Execution, "processId" | "pid">,
  config: ProcessConfig,
) => RunningProcess;

export function createCommands(processes: ProcessesClient): OpenCommand {
  // Writes to one command come from many requests and are put in a row here.
  const oneByOne = createKeyedMutex();
  return (execution, config) => openCommand({ processes, oneByOne, ...execution }, config);
}

interface CommandDeps extends Pick<Execution, "processId" | "pid"> {
  readonly processes: ProcessesClient;
  readonly oneByOne: ReturnType<typeof createKeyedMutex>;
}

function openCommand(deps: CommandDeps, config: ProcessConfig): RunningProcess {
  const { processes, oneByOne, processId, pid } = deps;

  async function append(data: Uint8Array): Promise<void> {
    // Where the input stands is asked for first: it may have been written to before the daemon was restarted.
    const standing = await processes.write({ processId, offset: 0n, data: new Uint8Array(0) });
    const answer = await processes.write({ processId, offset: standing.nextOffset, data });
    if (answer.state !== StdinState.ACCEPTED) throw noInput("the command takes no input any more");
  }

  async function signalTree(name: "SIGTERM" | "SIGKILL"): Promise<boolean> {
    const { delivered } = await processes.signal({ processId, name, scope: SignalScope.TREE });
    return delivered;
  }

  return {
    pid,
    config,
    output: (signal) => readOutput(processes.attach({ processId }, { signal })),
    async write(kind, bytes) {
      if (kind === "pty") throw noInput("this is not a terminal");
      if (!config.stdin) throw noInput("the command was started without input");
      await oneByOne(processId, () => append(bytes));
    },
    async closeStdin() {
      if (!config.stdin) throw noInput("the command was started without input");
      await oneByOne(processId, () => processes.closeStdin({ processId }));
    },
    resize() {
      throw noInput("this is not a terminal");
    },
    async endOverdue() {
      const { execution } = await processes.wait({ processId, waitMs: 0 });
      // The keeper, which has the same limit, ends the group and leaves alone what has moved out of it. What a command
      // left behind on purpose, when it ended by itself, is none of ours.
      const isOverdue = execution?.state === ExecutionState.RUNNING || execution?.exited?.timedOut === true;
      if (isOverdue) await signalTree("SIGKILL");
    },
    signal: signalTree,
  };
}

function noInput(message: string): ConnectError {
  return new ConnectError(message, Code.FailedPrecondition);
}

/** The end is told last, when no output follows, though it may be known earlier. */
async function* readOutput(
  answers: AsyncIterable<{ readonly event?: Event | undefined }>,
): AsyncGenerator<ProcessOutput> {
  let end: EndFacts = { code: null, signal: null, unknown: "no end was recorded" };
  for await (const { event } of answers) {
    const kind = event?.kind;
    switch (kind?.case) {
      case "output":
        yield { kind: nameOf(kind.value.stream), bytes: kind.value.data };
        break;
      case "gap":
        yield { kind: nameOf(kind.value.stream), bytes: gapNotice(kind.value.to - kind.value.from) };
        break;
      case "exited":
        end = { code: kind.value.code ?? null, signal: kind.value.signal ?? null, unknown: "" };
        break;
      case "unknown":
        end = { code: null, signal: null, unknown: kind.value.reason };
        break;
      case "closed":
        yield { kind: "end", end };
        return;
      case "started":
      case "keepalive":
      case undefined:
        break;
    }
  }
}

function nameOf(stream: Stream): "stdout" | "stderr" {
  return stream === Stream.STDERR ? "stderr" : "stdout";
}

/** There is no event for it here, and to leave it out would pass a torn output off as whole. */
function gapNotice(bytes: bigint): Uint8Array {
  return new TextEncoder().encode(`\n[${bytes} bytes of output are no longer kept and left out here]\n`);
}
