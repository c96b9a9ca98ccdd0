/**
 * Everything that `sand` prints. Colour only where a person looks (a TTY) and `NO_COLOR` isn't set; with `--json`
 * standard output holds JSON alone, so that it can be piped.
 */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  readonly json: boolean;
  readonly isTty: boolean;
  readonly columns: number;
  readonly paint: Paint;
  /** as it is, without a line break: streamed text */
  write(text: string): void;
  line(text?: string): void;
  /** to standard error: progress and warnings, never part of a result */
  note(text: string): void;
  /** one JSON document a line */
  result(value: unknown): void;
}

export interface TerminalOptions {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly json: boolean;
  readonly noColor: boolean;
}

const styleCodes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};
const columnsFallback = 80;

export function createPaint(colored: boolean): Paint {
  if (!colored) return (_style, text) => text;
  return (style, text) => {
    const [open, close] = styleCodes[style];
    return `\u001b[${open}m${text}\u001b[${close}m`;
  };
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, json } = options;
  const isTty = stdout.isTTY === true;
  return {
    json,
    isTty,
    columns: stdout.columns ?? columnsFallback,
    paint: createPaint(isTty && !options.noColor && !json),
    write: (text) => {
      if (!json) stdout.write(text);
    },
    line: (text = "") => {
      if (!json) stdout.write(`${text}\n`);
    },
    note: (text) => {
      if (!json) stderr.write(`${text}\n`);
    },
    result: (value) => {
      if (json) stdout.write(`${JSON.stringify(value)}\n`);
    },
  };
}
