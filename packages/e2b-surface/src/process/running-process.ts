/**
 * One command or terminal as the verbs see it, whichever of the two it is. A command is an execution of the ledger and
 * outlives the daemon; a terminal lives with the daemon.
 */

import type { TerminalSize } from "../surface-ports.ts";
import type { EndFacts } from "./describe-end.ts";
import type { ProcessConfig } from "./process-labels.ts";

export type ProcessOutput =
  | { readonly kind: "stdout" | "stderr" | "pty"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly end: EndFacts };

export interface RunningProcess {
  readonly pid: number;
  readonly config: ProcessConfig;
  /** What it prints and then how it ended. Ends early when the signal aborts. */
  output(signal: AbortSignal): AsyncIterable<ProcessOutput>;
  /** Throws when it takes no such input. */
  write(kind: "stdin" | "pty", bytes: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  resize(size: TerminalSize): void;
  /** Its limit is over: ends all of it, whatever group it is in, unless it has ended by itself. */
  endOverdue(): Promise<void>;
  /** To it and all that it started. False when nobody was there to get it. */
  signal(name: "SIGTERM" | "SIGKILL"): Promise<boolean>;
}
