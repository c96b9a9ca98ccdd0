/**
 * The one seam between terminals and what holds their pseudoterminal. A backend promises:
 *
 * 1. Every byte that the program wrote is given to `onData` before `onExit`, however short the run.
 * 2. After `pause` no more than a fixed amount comes, until `resume`.
 * 3. `write` takes bytes in order and loses none; it resolves when the terminal has them, and waits without using the
 *    processor while the terminal is full.
 * 4. `onExit` comes exactly once, and nothing comes after it.
 */
import type { CommandUser } from "../command-user.ts";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface TerminalLaunch extends TerminalSize {
  /** the marker of all that runs there, and its name in the ledger where it has one */
  readonly executionId: string;
  /** whom the terminal's device belongs to; the argv changes to it by itself */
  readonly user?: CommandUser;
  /** kept with it, for a daemon that finds it again */
  readonly labels?: Readonly<Record<string, string>>;
  /** the program and its arguments, with everything that encloses them */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface TerminalExit {
  readonly code: number | null;
  /** as in `SIGHUP` */
  readonly signal: string | null;
}

export interface TerminalEvents {
  /** `offset` where it may jump: what was in between is lost */
  readonly onData: (bytes: Buffer, offset?: number) => void;
  readonly onExit: (exit: TerminalExit) => void;
}

export interface TerminalPipe {
  /** the session's leader; 0 while it isn't known, and where none came up */
  readonly pid: number;
  /** Resolves when the leader is known, or there will be none. */
  readonly started: Promise<void>;
  /** Rejects when the terminal is gone. */
  write(bytes: Buffer): Promise<void>;
  resize(size: TerminalSize): void;
  pause(): void;
  resume(): void;
  /** Lets go of the terminal: the kernel hangs up on what still runs there. */
  close(): void;
}

/** A terminal of an earlier daemon that still runs. */
export interface LeftTerminal {
  /** as it was started, but for the size, which is the last one */
  readonly launch: TerminalLaunch;
  /** Gives its output from the oldest byte that is kept on. */
  open(events: TerminalEvents): TerminalPipe;
}

export interface TerminalBackend {
  readonly name: string;
  /** its terminals go on when this process ends */
  readonly outlivesUs: boolean;
  /** Throws `exec/spawn-failed` or `exec/unsupported`. */
  spawn(launch: TerminalLaunch, events: TerminalEvents): TerminalPipe;
  /** What earlier daemons have left running. */
  findLeft(): readonly LeftTerminal[];
}
