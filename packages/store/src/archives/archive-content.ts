/**
 * What stands in an archive of an agent, in this order:
 *
 *   agent.json        format, version, and whose it is
 *   rows/NNNNNN.jsonl values, prompts, turns with their records behind them, entries; one row a line
 *   files/<path>      what lies in the agent's folder beside its stores
 *   manifest.json     each member before it with its size and SHA-256
 *
 * Rows are what the store says, not its pages: a store is made anew from them by the code that makes every store, so
 * nothing of a foreign database is ever opened, and a later schema reads an earlier archive.
 */
import type { PromptRow, TurnRecord, TurnRow } from "@sand/agent-core";
import { BoxError, type JsonValue, type TranscriptEntry } from "@sand/protocol";

export const archiveFormat = "sand-agent";
export const archiveVersion = 1;
export const headName = "agent.json";
export const manifestName = "manifest.json";
export const rowsPrefix = "rows/";
export const filesPrefix = "files/";

export interface ArchiveHead {
  readonly format: typeof archiveFormat;
  readonly version: number;
  readonly agentId: string;
  readonly name: string;
  readonly exportedAtMs: number;
  /** which agents ran its turns, up to which, oldest first; the last one is this agent */
  readonly ranBy: readonly RanBy[];
}

export interface RanBy {
  readonly agentId: string;
  readonly throughGeneration: number;
}

export type ArchiveRow =
  | { readonly value: readonly [string, JsonValue] }
  | { readonly prompt: PromptRow }
  | { readonly turn: TurnRow }
  /** of the turn before it */
  | { readonly record: TurnRecord }
  | { readonly entry: TranscriptEntry };

export interface ManifestMember {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** of an agent's own folder: what is left out, as for snapshots */
export function isArchivedPath(path: string): boolean {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.slice(0, -1).some((part) => part === "quarantine" || part === "connector-secrets")) return false;
  return !/\.db(?:-wal|-shm|-journal)?$/u.test(name) && !/^\..*\.tmp$/u.test(name);
}

/** keys that say something of the place where the agent lives, and are made anew elsewhere */
export const localKeys: ReadonlySet<string> = new Set([
  "summary",
  "creation",
  "payloadRoot",
  "isRetrying",
  "importedFrom",
]);

/** the value that says which agents ran the turns before an import */
export const importedKey = "importedFrom";

/** Nothing where it isn't there; what can't be read is damage. */
export function parseRanBy(value: unknown): readonly RanBy[] {
  if (value === undefined) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((one) => {
    const fields: Readonly<Record<string, unknown>> =
      typeof one === "object" && one !== null ? { ...one } : {};
    const { agentId, throughGeneration } = fields;
    if (typeof agentId === "string" && typeof throughGeneration === "number")
      return { agentId, throughGeneration };
    throw new BoxError("store/damaged", "what is said of an import can't be read");
  });
}

/** A nonce of an imported prompt: nobody sends it again here, and it must not be taken for another agent's. */
export const importedNonce = /^imported:[^:]+:(.*)$/su;
