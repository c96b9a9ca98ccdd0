/**
 * Turns environment variables into one frozen, typed object by a table.
 *
 * Every wrong value is reported at once, by the variable's name; a secret's value is never part of a message. An
 * empty variable counts as absent, because that is how shells and compose files say "not set".
 */
import { BoxError } from "@sand/protocol";

export type Env = Readonly<Record<string, string | undefined>>;

export interface EnvSetting<T> {
  /** variables that set this, the first present one wins */
  readonly names: readonly [string, ...string[]];
  /** throws with a short reason that doesn't repeat the text */
  readonly parse: (text: string) => T;
  readonly fallback: T;
  /** kept out of messages, and removed by `wipeSecrets` */
  readonly secret?: boolean;
  /** one line for the table of settings */
  readonly about: string;
}

export type EnvTable = Readonly<Record<string, EnvSetting<unknown>>>;

export type EnvValues<Table extends EnvTable> = {
  readonly [Key in keyof Table]: Table[Key] extends EnvSetting<infer T> ? T : never;
};

export interface ParsedEnv<Table extends EnvTable> {
  readonly values: EnvValues<Table>;
  readonly warnings: readonly string[];
}

export interface ParseEnvOptions {
  /** names that other processes read from the same environment; no warning for these */
  readonly knownElsewhere?: readonly string[];
}

const ownPrefix = "SAND_";

/** Keeps the type of each row; a plain literal would lose what its parser returns. */
export function setting<T>(row: EnvSetting<T>): EnvSetting<T> {
  return row;
}

export function parseEnv<Table extends EnvTable>(
  table: Table,
  env: Env,
  options: ParseEnvOptions = {},
): ParsedEnv<Table> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, row] of Object.entries(table)) {
    const name = row.names.find((candidate) => isSet(env[candidate]));
    values[key] = name === undefined ? row.fallback : parseOne(row, name, env[name] ?? "", problems);
  }
  if (problems.length > 0) {
    throw new BoxError("config/invalid", problems.join("; "), {
      hint: "correct or unset the named variables",
    });
  }
  // Each key of the table was given its row's value above.
  return { values: Object.freeze(values) as EnvValues<Table>, warnings: unknownNames(table, env, options) };
}

/** Removes secrets from an environment that children would inherit. Call it once they have been read. */
export function wipeSecrets(table: EnvTable, env: Record<string, string | undefined>): void {
  for (const row of Object.values(table)) {
    if (row.secret !== true) continue;
    for (const name of row.names) delete env[name];
  }
}

function isSet(text: string | undefined): boolean {
  return text !== undefined && text !== "";
}

function parseOne(row: EnvSetting<unknown>, name: string, text: string, problems: string[]): unknown {
  try {
    return row.parse(text);
  } catch (error) {
    const reason = row.secret !== true && error instanceof Error ? error.message : "is not valid";
    problems.push(`${name} ${reason}`);
    return undefined;
  }
}

function unknownNames(table: EnvTable, env: Env, options: ParseEnvOptions): string[] {
  const known = new Set(Object.values(table).flatMap((row) => [...row.names]));
  for (const name of options.knownElsewhere ?? []) known.add(name);
  return Object.keys(env)
    .filter((name) => name.startsWith(ownPrefix) && !known.has(name))
    .map((name) => `${name} is not a setting that this program knows`);
}
