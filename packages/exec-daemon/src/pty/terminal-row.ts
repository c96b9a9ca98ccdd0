/** A terminal as lists show it. */
import type { TerminalExit, TerminalSize } from "./terminal-backend.ts";

export interface TerminalRow extends TerminalSize {
  readonly id: string;
  readonly pid: number;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly title: string;
  readonly state: "running" | "ended";
  readonly exit: TerminalExit | null;
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
  /** connections to it */
  readonly viewers: number;
  /** one of them may write */
  readonly written: boolean;
  /** it runs, and nobody is connected */
  readonly orphan: boolean;
  readonly onDisconnect: string;
  readonly idleGraceMs: number;
  /** bytes of output so far */
  readonly offset: number;
  readonly backend: string;
}
