/**
 * What one command of a session leaves for the next, as data. The shell writes it to a descriptor of its own as a magic
 * word and triples of kind, name and code, each ended by a zero byte; the last one says `end`, so half of it is never
 * taken for all of it. Its texts are bytes, kept as Latin-1.
 *
 * What it says is sorted by name here, because a variable that the server sets must not come from a session: an earlier
 * conversation left its own there, read-only perhaps.
 */
import { shellLimits } from "./shell-limits.ts";

export type StateKind =
  | "variable"
  | "function"
  | "function-flags"
  | "alias"
  | "arguments"
  | "umask"
  | "options"
  | "shopt";

export interface StateRecord {
  readonly kind: StateKind;
  readonly name: string;
  /** in the shell's own words, but a function of zsh and a variable of PowerShell, which are contents */
  readonly code: string;
}

export interface ShellState {
  readonly cwd: string;
  readonly records: readonly StateRecord[];
}

export type ParsedState =
  | { readonly kind: "whole"; readonly state: ShellState }
  | { readonly kind: "none"; readonly reason: string };

export const stateMagic = "sand-shell-state-1";

const kinds: readonly string[] = [
  ...["variable", "function", "function-flags", "alias", "arguments", "umask", "options", "shopt"],
];

export function parseState(text: string): ParsedState {
  if (text.length === 0)
    return { kind: "none", reason: "it ended without a chance to tell its state, or became another program" };
  if (text.length > shellLimits.stateMaxBytes) return { kind: "none", reason: "its state is too large" };
  // A command may have written to the descriptor by accident; the shell's own words come last.
  const at = text.lastIndexOf(`${stateMagic}\0`);
  const fields = at < 0 ? [] : text.slice(at + stateMagic.length + 1).split("\0");
  const records: StateRecord[] = [];
  let cwd: string | undefined;
  for (let index = 0; index + 2 < fields.length && records.length < shellLimits.recordsMax; index += 3) {
    const [kind = "", name = "", code = ""] = fields.slice(index, index + 3);
    if (kind === "end") return cwd === undefined ? damaged : { kind: "whole", state: { cwd, records } };
    if (kind === "cwd") cwd = code.replace(/\n$/u, "");
    else if (isKind(kind)) records.push({ kind, name, code });
    else return damaged;
  }
  return damaged;
}

const damaged = { kind: "none", reason: "the state that it left isn't whole" } as const;

function isKind(text: string): text is StateKind {
  return kinds.includes(text);
}

/** names that aren't the session's to set */
export interface ForeignNames {
  /** set by the server for this command */
  readonly server: readonly string[];
  /** set by the caller for this command only */
  readonly own: readonly string[];
}

/** The state after a command: what the server and the call had set isn't part of it, and the call's own comes back. */
export function keepState(
  before: ShellState | undefined,
  after: ShellState,
  { server, own }: ForeignNames,
): ShellState {
  const foreign = new Set([...server, ...own]);
  const isForeign = ({ kind, name }: StateRecord) => kind === "variable" && foreign.has(name);
  const covered = new Set(own.filter((name) => !server.includes(name)));
  const uncovered = (before?.records ?? []).filter(
    ({ kind, name }) => kind === "variable" && covered.has(name),
  );
  return { cwd: after.cwd, records: [...after.records.filter((record) => !isForeign(record)), ...uncovered] };
}

/** The records that a command begins with, without any variable of these names. */
export function withoutVariables(state: ShellState, names: ReadonlySet<string>): readonly StateRecord[] {
  return state.records.filter(({ kind, name }) => kind !== "variable" || !names.has(name));
}

export function variableNames(state: ShellState | undefined): readonly string[] {
  const variables = (state?.records ?? []).filter(({ kind }) => kind === "variable");
  return variables.map(({ name }) => name).sort();
}

/** Lines of an option listing without those options that would keep a shell from running anything. */
export function keepOptions(listing: string, dropped: ReadonlySet<string>): readonly string[] {
  return listing.split("\n").filter((line) => {
    const words = line.trim().split(" ");
    return (
      words.length >= 2 &&
      words.every((word) => /^[A-Za-z0-9_+-]+$/u.test(word)) &&
      !dropped.has(words.at(-1) ?? "")
    );
  });
}

/** One word for bash and zsh, whatever is in it. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
