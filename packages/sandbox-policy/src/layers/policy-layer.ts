/**
 * What one party says about commands: an administrator, the user, the repository that is worked on, or the request for
 * one run. Everything is optional; `mergePolicies` decides what comes of it.
 *
 * A layer may speak for every executor or for one of them. Paths are absolute, or begin with `~/` (the commands' home)
 * or `./` (the workspace).
 */
import { BoxError } from "@sand/protocol";

export const executorNames = ["shell", "files", "mcp", "computer"] as const;
/** who acts for the agent */
export type ExecutorName = (typeof executorNames)[number];

export const layerNames = ["hardcoded", "administrator", "user", "repository", "request"] as const;
/** from the most to the least trusted */
export type LayerName = (typeof layerNames)[number];

// Each from the loosest to the strictest.
export const workspaceAccesses = ["write", "read"] as const;
export const readBoundaries = ["everything", "listed"] as const;
export const temporaryKinds = ["kept", "fresh"] as const;
export const networkKinds = ["open", "listed", "none"] as const;

export interface PolicyLayer {
  readonly workspace?: (typeof workspaceAccesses)[number];
  /** `listed`: the system's programs, the workspace and the named paths, nothing else of the machine */
  readonly reads?: (typeof readBoundaries)[number];
  /** `/tmp`: one folder for all runs, or an empty one in memory for each */
  readonly temporary?: (typeof temporaryKinds)[number];
  readonly network?: (typeof networkKinds)[number];
  readonly readOnlyPaths?: readonly string[];
  readonly writablePaths?: readonly string[];
  /** nothing of them can be read */
  readonly hiddenPaths?: readonly string[];
  /** they can't be written, also where their surroundings can */
  readonly protectedPaths?: readonly string[];
  /** they can be written, and neither removed nor renamed */
  readonly keptPaths?: readonly string[];
  /** `name`, `*.name`, each with an optional `:port`; for a network that is `listed` */
  readonly domains?: readonly string[];
  /** refused first, whatever `domains` says */
  readonly deniedDomains?: readonly string[];
  /** names and addresses that may be reached although they are private */
  readonly privateHosts?: readonly string[];
}

export interface PolicyFile extends PolicyLayer {
  readonly executors?: Readonly<Partial<Record<ExecutorName, PolicyLayer>>>;
}

const choices = {
  workspace: workspaceAccesses,
  reads: readBoundaries,
  temporary: temporaryKinds,
  network: networkKinds,
} as const;
const pathLists = [
  "readOnlyPaths",
  "writablePaths",
  "hiddenPaths",
  "protectedPaths",
  "keptPaths",
] as const satisfies readonly (keyof PolicyLayer)[];
const hostLists = [
  "domains",
  "deniedDomains",
  "privateHosts",
] as const satisfies readonly (keyof PolicyLayer)[];

const listMax = 256;
const entryMaxChars = 4096;

/** Throws `config/invalid` with the place: a policy that is half understood would be one that isn't followed. */
export function parsePolicyFile(value: unknown, source: string): PolicyFile {
  const { executors, ...rest } = objectOf(value, source);
  const layer = parseLayer(rest, source);
  if (executors === undefined) return layer;
  const parsed: Partial<Record<ExecutorName, PolicyLayer>> = {};
  for (const [name, own] of Object.entries(objectOf(executors, `${source}: executors`))) {
    const executor = executorNames.find((candidate) => candidate === name);
    if (executor === undefined) throw invalid(`${source}: there is no executor ${name}`);
    parsed[executor] = parseLayer(objectOf(own, `${source}: ${name}`), `${source}: ${name}`);
  }
  return { ...layer, executors: parsed };
}

function parseLayer(fields: Readonly<Record<string, unknown>>, source: string): PolicyLayer {
  const parsed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (isKeyOf(choices, name)) parsed[name] = choiceOf(choices[name], value, `${source}: ${name}`);
    else if (pathLists.some((list) => list === name))
      parsed[name] = listOf(value, isPath, `${source}: ${name}`);
    else if (hostLists.some((list) => list === name))
      parsed[name] = listOf(value, isHost, `${source}: ${name}`);
    else throw invalid(`${source}: nothing is known of ${name}`);
  }
  // Every field was looked at by the name that the type gives it.
  return parsed as PolicyLayer;
}

function isKeyOf<T extends object>(table: T, name: string): name is Extract<keyof T, string> {
  return Object.hasOwn(table, name);
}

function choiceOf(allowed: readonly string[], value: unknown, place: string): string {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw invalid(`${place} is one of ${allowed.join(", ")}`);
  return found;
}

function listOf(value: unknown, fits: (entry: string) => boolean, place: string): readonly string[] {
  if (!Array.isArray(value) || value.length > listMax)
    throw invalid(`${place} is a list of at most ${listMax}`);
  return value.map((entry: unknown) => {
    if (typeof entry !== "string" || entry.length > entryMaxChars || !fits(entry))
      throw invalid(`${place} holds an entry that doesn't fit`);
    return entry;
  });
}

const isPath = (entry: string): boolean => /^(?:\/|~\/|\.\/)/u.test(entry) && !entry.includes("\0");
const isHost = (entry: string): boolean => /^(?:\*\.)?[\w.:[\]/-]+$/u.test(entry);

function objectOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(`${place} is an object`);
  return value as Readonly<Record<string, unknown>>;
}

const invalid = (message: string): BoxError => new BoxError("config/invalid", message);
