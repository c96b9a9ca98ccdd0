/** Checks a request for a terminal and fills in what it leaves open. Pure. */
import { BoxError } from "@sand/protocol";
import { limits } from "../limits.ts";
import { clampSize } from "./frames.ts";
import { ptyLimits } from "./pty-limits.ts";
import type { OnDisconnect } from "./terminal.ts";
import type { TerminalSize } from "./terminal-backend.ts";

export interface SpawnRequest extends TerminalSize {
  /** chosen by the caller, so that a repeat finds the same terminal; undefined: one of ours */
  readonly id: string | undefined;
  /** empty: the account's shell, as at a login */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly onDisconnect: OnDisconnect;
  readonly idleGraceMs: number;
}

const known = ["id", "argv", "cwd", "env", "cols", "rows", "onDisconnect", "idleGraceMs"];
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/u;

/** Throws `exec/invalid` with what is wrong. */
export function parseSpawn(body: unknown): SpawnRequest {
  const fields = asFields(body);
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`${unknown} is not a field of a terminal`);
  const size = clampSize({
    cols: wholeNumber(fields.cols ?? 80, "cols", Number.MAX_SAFE_INTEGER),
    rows: wholeNumber(fields.rows ?? 24, "rows", Number.MAX_SAFE_INTEGER),
  });
  if (size === undefined) throw invalid("a terminal has at least one column and one row");
  const onDisconnect = fields.onDisconnect ?? "keep";
  if (onDisconnect !== "keep" && onDisconnect !== "hup" && onDisconnect !== "kill")
    throw invalid("onDisconnect is keep, hup or kill");
  return {
    id: parseId(fields.id),
    argv: parseArgv(fields.argv),
    cwd: parseText(fields.cwd ?? "", "cwd"),
    env: parseEnv(fields.env ?? {}),
    ...size,
    onDisconnect,
    idleGraceMs: wholeNumber(
      fields.idleGraceMs ?? (onDisconnect === "keep" ? ptyLimits.idleGraceKeepMs : ptyLimits.idleGraceEndMs),
      ...(["idleGraceMs", ptyLimits.idleGraceMaxMs] as const),
    ),
  };
}

export function parseId(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string" || !idPattern.test(value))
    throw invalid("id is up to 128 letters, digits, dots, dashes, colons and underscores");
  return value;
}

/** An id as it stands in an address. Whatever it says then, it is looked up and nothing else. */
export function decodeId(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new BoxError("exec/invalid", "the id can't be read", { cause: error });
  }
}

function parseArgv(value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length === 0 || value.length > limits.argsMax)
    throw invalid("argv is a list of words, the program first");
  const words = value.map((word: unknown) => parseText(word, "argv"));
  if (words[0] === "") throw invalid("argv begins with a program");
  if (words.reduce((sum, word) => sum + Buffer.byteLength(word), 0) > limits.commandMaxBytes)
    throw invalid("argv is too long");
  return words;
}

function parseEnv(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(asFields(value)).map(([name, text]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name)) throw invalid("env has a name that no shell can use");
    return [name, parseText(text, `env.${name}`)] as const;
  });
  const bytes = entries.reduce((sum, [name, text]) => sum + name.length + Buffer.byteLength(text), 0);
  if (bytes > limits.envMaxBytes) throw invalid("env is too large");
  return Object.fromEntries(entries);
}

export function parseSize(body: unknown): TerminalSize {
  const fields = asFields(body);
  return {
    cols: wholeNumber(fields.cols, "cols", Number.MAX_SAFE_INTEGER),
    rows: wholeNumber(fields.rows, "rows", Number.MAX_SAFE_INTEGER),
  };
}

export function asFields(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid("an object is needed");
  return { ...value };
}

function parseText(value: unknown, name: string): string {
  if (typeof value !== "string" || value.includes("\0")) throw invalid(`${name} is a text without NUL`);
  return value;
}

function wholeNumber(value: unknown, name: string, max: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > max)
    throw invalid(`${name} is a whole number from 0 to ${max}`);
  return value;
}

function invalid(message: string): BoxError {
  return new BoxError("exec/invalid", message);
}
