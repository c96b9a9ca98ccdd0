/**
 * The person's own terminal while it is lent to a program. Raw mode is on only in between, and whatever happens (an
 * end, an error, a signal) it is given back in order: modes that the program set are unset, and the shell's line editing
 * is as it was.
 */
export interface LocalTtyDeps {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

export interface LocalTty {
  readonly size: { readonly cols: number; readonly rows: number };
  /** Clears the screen, so that a picture can be drawn. */
  clear(): void;
  /** Resolves when it has been taken. */
  write(bytes: Buffer | string): Promise<void>;
  /** Gives the terminal back; a second call does nothing. */
  restore(): void;
}

export interface LocalTtyEvents {
  readonly onTyped: (bytes: Buffer) => void;
  readonly onResize: () => void;
  /** a signal ends us; the terminal has been given back already */
  readonly onSignal: (name: NodeJS.Signals) => void;
}

/** to the main screen; no mouse, no focus, no pasting marks, plain keys; the cursor shown, no colour, no margins */
const unset =
  "\u001b[?1049l\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?1004l\u001b[?2004l\u001b[?1l\u001b>\u001b[?25h\u001b[0m\u001b[r";
const cleared = `${unset}\u001b[H\u001b[2J`;
const endSignals = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const;

/** A serial line or a container's terminal may not know its size, and says 0. */
export function sizeOf({ columns, rows }: { readonly columns?: number; readonly rows?: number }): {
  readonly cols: number;
  readonly rows: number;
} {
  return { cols: columns || 80, rows: rows || 24 };
}

export function openLocalTty({ input, output }: LocalTtyDeps, events: LocalTtyEvents): LocalTty {
  let isRestored = false;
  const onEnd = endSignals.map((name) => ({
    name,
    hear: (): void => {
      restore();
      events.onSignal(name);
    },
  }));

  function restore(): void {
    if (isRestored) return;
    isRestored = true;
    input.off("data", events.onTyped);
    output.off("resize", events.onResize);
    process.off("exit", restore);
    for (const { name, hear } of onEnd) process.off(name, hear);
    if (input.isTTY) input.setRawMode(false);
    input.pause();
    // Below what the program has drawn, so that the shell's prompt doesn't stand in the middle of it.
    if (output.isTTY) output.write(`\u001b7${unset}\u001b8\r\n`);
  }

  // Before raw mode, so that there is no moment in which it could stay.
  process.on("exit", restore);
  for (const { name, hear } of onEnd) process.on(name, hear);
  if (input.isTTY) input.setRawMode(true);
  input.on("data", events.onTyped);
  output.on("resize", events.onResize);

  return {
    get size() {
      return sizeOf(output);
    },
    clear: () => void output.write(cleared),
    write: (bytes) => new Promise((resolve) => output.write(bytes, () => resolve())),
    restore,
  };
}
