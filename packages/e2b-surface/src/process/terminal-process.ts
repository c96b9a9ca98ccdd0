/** A terminal, in the same form as a command. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Terminal } from "../surface-ports.ts";
import type { ProcessConfig } from "./process-labels.ts";
import type { ProcessOutput, RunningProcess } from "./running-process.ts";

export interface TerminalProcess extends RunningProcess {
  readonly terminal: Terminal;
}

export function openTerminalProcess(terminal: Terminal, config: ProcessConfig): TerminalProcess {
  // A client that comes back gets what it hasn't seen, and not what it has: a terminal's old questions to its screen
  // would be answered a second time.
  let shown = 0;
  let readers = 0;

  async function* output(signal: AbortSignal): AsyncGenerator<ProcessOutput> {
    const from = readers > 0 ? terminal.offset : shown;
    readers += 1;
    try {
      for await (const piece of terminal.output(from, signal)) {
        yield { kind: "pty", bytes: piece.bytes };
        shown = Math.max(shown, piece.offset + piece.bytes.length);
      }
    } finally {
      readers -= 1;
    }
    if (terminal.end !== undefined) yield { kind: "end", end: { ...terminal.end, unknown: "" } };
  }

  return {
    terminal,
    pid: terminal.pid,
    config,
    output,
    async write(kind, bytes) {
      if (kind === "stdin") throw notThis("a terminal's input is written as `pty`");
      if (terminal.end !== undefined) throw notThis("the terminal has ended");
      await terminal.write(bytes);
    },
    closeStdin: () => Promise.reject(notThis("a terminal's input has no end: write what ends its program")),
    resize: (size) => terminal.resize(size),
    async endOverdue() {
      await terminal.kill("SIGKILL");
    },
    signal: (name) => terminal.kill(name),
  };
}

function notThis(message: string): ConnectError {
  return new ConnectError(message, Code.FailedPrecondition);
}
