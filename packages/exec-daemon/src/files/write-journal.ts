/**
 * Remembers file writes by their operation id, so that a repeat after a lost answer or a crash is known as done.
 *
 * The intent holds the digest before and after. A file that has the later digest was written; one that has the earlier
 * was not; any other was changed by somebody else meanwhile, and then nothing is overwritten.
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";
import { folderName } from "../ledger/execution-folder.ts";
import { limits } from "../limits.ts";

export interface WriteIntent {
  readonly path: string;
  /** null: there was no such file */
  readonly before: string | null;
  readonly after: string;
  readonly created: boolean;
  readonly done: boolean;
}

export interface WriteJournal {
  find(operationId: string): Promise<WriteIntent | undefined>;
  put(operationId: string, intent: WriteIntent): Promise<void>;
}

export interface StoredWriteJournal extends WriteJournal {
  /** Intents without an end; reads the whole journal, so it is for a start. */
  unfinished(): readonly WriteIntent[];
}

/** how many new entries there may be before old ones are looked for */
const pruneEvery = 256;

export function openWriteJournal(dataRoot: string): StoredWriteJournal {
  const root = join(dataRoot, "file-writes");
  mkdirSync(root, { recursive: true, mode: 0o700 });
  let puts = 0;

  const fileOf = (operationId: string): string => join(root, `${folderName(operationId)}.json`);

  async function prune(): Promise<void> {
    const names = entries();
    if (names.length <= limits.writeJournalMax) return;
    const byAge = names
      .map((name) => ({
        path: join(root, name),
        atMs: statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
      }))
      .sort((a, b) => a.atMs - b.atMs);
    for (const { path } of byAge.slice(0, names.length - limits.writeJournalMax))
      await rm(path, { force: true });
  }

  const entries = (): readonly string[] =>
    readdirSync(root).filter((name) => name.endsWith(".json") && !name.startsWith("."));

  function read(path: string): WriteIntent | undefined {
    try {
      // Written whole by ourselves, so reading it is its parser.
      return JSON.parse(readFileSync(path, "utf8")) as WriteIntent;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  return {
    find: (operationId) => Promise.resolve(read(fileOf(operationId))),
    unfinished: () =>
      entries()
        .flatMap((name) => read(join(root, name)) ?? [])
        .filter((intent) => !intent.done),
    async put(operationId, intent) {
      await writeFileAtomic(fileOf(operationId), JSON.stringify(intent));
      puts += 1;
      if (puts % pruneEvery === 0) await prune();
    },
  };
}
