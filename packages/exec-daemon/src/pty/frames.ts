/**
 * What travels over a terminal's WebSocket. Binary frames begin with a channel byte; text frames are JSON.
 *
 *   client → daemon   0 stdin                        auth · resize · signal · ack · ping · lease
 *   daemon → client   1 output                       hello · snapshot · resize · title · cwd · lease · exit · error · pong
 *                     3 replay, 8 bytes of offset
 *
 * Offsets count the terminal's output from its first byte. `hello` says where the client is and how it is brought up
 * to date: `bytes` (replay frames up to `offset`), `snapshot` (a picture follows), or `none`. Until the client has
 * acknowledged that, its input is ignored: it may be a terminal's answer to a question in old output.
 */
import { constants } from "node:os";
import { BoxError } from "@sand/protocol";
import { ptyLimits } from "./pty-limits.ts";
import type { TerminalSize } from "./terminal-backend.ts";

export const channels = { stdin: 0, output: 1, replay: 3 } as const;

/** codes of a WebSocket's end; the first three and 1013 are everybody's, those from 4000 on are ours */
export const closeCodes = {
  ended: 1000,
  leaving: 1001,
  unauthorized: 1008,
  tooLarge: 1009,
  slow: 1013,
  malformed: 4000,
  takenOver: 4001,
  notFound: 4004,
  leaseHeld: 4009,
} as const;

export type ClientMessage =
  | { readonly type: "stdin"; readonly bytes: Buffer }
  | { readonly type: "auth"; readonly token: string }
  | ({ readonly type: "resize" } & TerminalSize)
  | { readonly type: "signal"; readonly name: NodeJS.Signals }
  | { readonly type: "ack"; readonly offset: number }
  | { readonly type: "ping"; readonly nonce: string }
  | { readonly type: "lease"; readonly action: "take" | "release" };

export type ServerMessage =
  | {
      readonly type: "hello";
      readonly version: 1;
      readonly terminal: unknown;
      readonly lease: boolean;
      readonly replay: "none" | "bytes" | "snapshot";
      readonly from: number;
      readonly offset: number;
    }
  | ({ readonly type: "snapshot"; readonly offset: number; readonly data: string } & TerminalSize)
  | ({ readonly type: "resize"; readonly offset: number } & TerminalSize)
  | { readonly type: "title"; readonly title: string }
  | { readonly type: "cwd"; readonly cwd: string }
  | { readonly type: "lease"; readonly held: boolean; readonly free: boolean }
  | { readonly type: "exit"; readonly code: number | null; readonly signal: string | null }
  | { readonly type: "error"; readonly code: string; readonly message: string; readonly hint?: string }
  | { readonly type: "pong"; readonly nonce: string };

export function outputFrame(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(channels.output), bytes]);
}

export function replayFrame(offset: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt8(channels.replay, 0);
  head.writeBigUInt64BE(BigInt(offset), 1);
  return Buffer.concat([head, bytes]);
}

/** Throws `exec/invalid` with what is wrong. */
export function parseFrame(data: Buffer, isBinary: boolean): ClientMessage {
  if (!isBinary) return parseControl(data.toString("utf8"));
  if (data.length === 0) throw invalid("a binary frame begins with its channel");
  if (data[0] !== channels.stdin) throw invalid(`channel ${data[0]} is not for clients`);
  return { type: "stdin", bytes: data.subarray(1) };
}

function parseControl(text: string): ClientMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid("a text frame holds JSON", error);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid("a text frame holds an object");
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const read = typeof fields.type === "string" && Object.hasOwn(readers, fields.type) ? fields.type : "";
  if (!isReadable(read)) throw invalid("type is none of auth, resize, signal, ack, ping, lease");
  return readers[read](fields);
}

type Fields = Readonly<Record<string, unknown>>;

const readers = {
  auth: ({ token }: Fields): ClientMessage => ({ type: "auth", token: text(token, "token", 4096) }),
  resize: ({ cols, rows }: Fields): ClientMessage => ({
    ...{ type: "resize", cols: count(cols, "cols"), rows: count(rows, "rows") },
  }),
  signal: ({ name }: Fields): ClientMessage => ({ type: "signal", name: parseSignalName(name) }),
  ack: ({ offset }: Fields): ClientMessage => ({ type: "ack", offset: count(offset, "offset") }),
  ping: ({ nonce }: Fields): ClientMessage => ({
    ...{ type: "ping", nonce: nonce === undefined ? "" : text(nonce, "nonce", 64) },
  }),
  lease: ({ action }: Fields): ClientMessage => {
    if (action !== "take" && action !== "release") throw invalid("action is take or release");
    return { type: "lease", action };
  },
} as const;

function isReadable(name: string): name is keyof typeof readers {
  return Object.hasOwn(readers, name);
}

/** what may be sent to the program in the foreground; `SIG` may be left out */
const allowedSignals = [
  "INT",
  "TERM",
  "HUP",
  "QUIT",
  "KILL",
  "TSTP",
  "STOP",
  "CONT",
  "USR1",
  "USR2",
  "WINCH",
];

export function parseSignalName(name: unknown): NodeJS.Signals {
  const short = typeof name === "string" ? name.replace(/^SIG/u, "") : "";
  const full = Object.keys(constants.signals).find((one) => one === `SIG${short}`);
  if (full === undefined || !allowedSignals.includes(short))
    throw invalid(`name is one of ${allowedSignals.join(", ")}`);
  return full as NodeJS.Signals;
}

/** Undefined for a size of nothing, which a client sends that has no window yet. */
export function clampSize({ cols, rows }: TerminalSize): TerminalSize | undefined {
  if (cols === 0 || rows === 0) return undefined;
  return { cols: Math.min(cols, ptyLimits.columnsMax), rows: Math.min(rows, ptyLimits.rowsMax) };
}

function text(value: unknown, name: string, maxChars: number): string {
  if (typeof value !== "string" || value.length > maxChars)
    throw invalid(`${name} is a text of at most ${maxChars} characters`);
  return value;
}

function count(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw invalid(`${name} is a whole number that isn't negative`);
  return value;
}

function invalid(message: string, cause?: unknown): BoxError {
  return new BoxError("exec/invalid", message, cause === undefined ? {} : { cause });
}
