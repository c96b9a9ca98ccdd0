/**
 * The one seam between terminals and what holds their pseudoterminal. A backend promises:
 *
 * 1. Every byte that the program wrote is given to `onData` before `onExit`, however short the run.
 * 2. After `pause` no more than a fixed amount comes, until `resume`.
 * 3. `write` takes bytes in order and loses none; it resolves when the terminal has them, and waits without using the
 *    processor while the terminal is full.
 * 4. `onExit` comes exactly once, and nothing comes after it.
 */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface TerminalLaunch extends TerminalSize {
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
  readonly onData: (bytes: Buffer) => void;
  readonly onExit: (exit: TerminalExit) => void;
}

export interface TerminalPipe {
  /** the session's leader */
  readonly pid: number;
  /** Rejects when the terminal is gone. */
  write(bytes: Buffer): Promise<void>;
  resize(size: TerminalSize): void;
  pause(): void;
  resume(): void;
  /** Lets go of the terminal: the kernel hangs up on what still runs there. */
  close(): void;
}

export interface TerminalBackend {
  readonly name: string;
  /** Throws `exec/spawn-failed` or `exec/unsupported`. */
  spawn(launch: TerminalLaunch, events: TerminalEvents): TerminalPipe;
}
