/**
 * Checkpoints under the data root, bounded in number and bytes: the oldest go first. Contents are kept once, by their
 * digest, and are on disk before a list names them; a list is on disk before the index does. So whatever a crash leaves
 * is a checkpoint that is whole or one that isn't there.
 */
import { mkdirSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createSemaphore, writeFileAtomic } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { errnoOf } from "../file-errors.ts";
import { fileLimits } from "../file-limits.ts";
import type { CheckpointFacts, CheckpointManifest } from "./checkpoint-records.ts";

export interface CheckpointStore {
  list(): Promise<readonly CheckpointFacts[]>;
  find(id: string): Promise<{ readonly facts: CheckpointFacts; readonly manifest: CheckpointManifest }>;
  /** False when there is no room for it. */
  keep(sha256: string, content: () => Promise<Uint8Array>): Promise<boolean>;
  /** Undefined when only the digest was kept. */
  content(sha256: string): Promise<Uint8Array | undefined>;
  add(facts: CheckpointFacts, manifest: CheckpointManifest): Promise<void>;
  remove(id: string): Promise<boolean>;
  /** One at a time: what one has kept another would sweep before it is named. */
  alone<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function openCheckpointStore(dataRoot: string): CheckpointStore {
  const root = join(dataRoot, "checkpoints");
  const contents = join(root, "contents");
  const turn = createSemaphore(1);
  let waiting = 0;
  let keptBytes: number | undefined;

  const indexPath = join(root, "index.json");
  const listPath = (id: string): string => join(root, `${id}.json`);
  const contentPath = (sha256: string): string => join(contents, sha256);

  async function readIndex(): Promise<readonly CheckpointFacts[]> {
    // Written whole by ourselves, so reading it is its parser.
    return ((await readJson(indexPath)) ?? []) as readonly CheckpointFacts[];
  }

  async function readManifest(id: string): Promise<CheckpointManifest> {
    return ((await readJson(listPath(id))) ?? { entries: [] }) as CheckpointManifest;
  }

  async function measure(): Promise<number> {
    if (keptBytes !== undefined) return keptBytes;
    mkdirSync(contents, { recursive: true, mode: 0o700 });
    let sum = 0;
    for (const name of await readdir(contents)) sum += (await stat(join(contents, name))).size;
    keptBytes = sum;
    return sum;
  }

  async function writeIndex(index: readonly CheckpointFacts[]): Promise<void> {
    await writeFileAtomic(indexPath, JSON.stringify(index));
  }

  /** Contents that no list names any more, and lists that the index doesn't. */
  async function sweep(index: readonly CheckpointFacts[]): Promise<void> {
    const named = new Set<string>();
    for (const { id } of index) for (const { sha256 } of (await readManifest(id)).entries) named.add(sha256);
    for (const name of await readdir(contents))
      if (!named.has(name)) await rm(join(contents, name), { force: true });
    const lists = new Set(["index.json", "contents", ...index.map(({ id }) => `${id}.json`)]);
    for (const name of await readdir(root)) if (!lists.has(name)) await rm(join(root, name), { force: true });
    keptBytes = undefined;
  }

  return {
    list: readIndex,
    async find(id) {
      const facts = (await readIndex()).find((one) => one.id === id);
      if (facts === undefined) throw new BoxError("file/not-found", "there is no such checkpoint");
      return { facts, manifest: await readManifest(id) };
    },
    async keep(sha256, content) {
      const size = await measure();
      if (await exists(contentPath(sha256))) return true;
      const bytes = await content();
      if (size + bytes.length > fileLimits.checkpointsMaxBytes) return false;
      await writeFileAtomic(contentPath(sha256), bytes);
      keptBytes = size + bytes.length;
      return true;
    },
    content: (sha256) => readFile(contentPath(sha256)).catch(nothingIfAbsent),
    async add(facts, manifest) {
      await measure();
      await writeFileAtomic(listPath(facts.id), JSON.stringify(manifest));
      const index = [...(await readIndex()), facts].slice(-fileLimits.checkpointsMax);
      await writeIndex(index);
      if (index[0]?.id !== facts.id && index.length === fileLimits.checkpointsMax) await sweep(index);
    },
    async remove(id) {
      const index = await readIndex();
      const left = index.filter((one) => one.id !== id);
      if (left.length === index.length) return false;
      await writeIndex(left);
      await sweep(left);
      return true;
    },
    async alone(work, signal) {
      if (waiting >= fileLimits.checkpointsWaitingMax)
        throw new BoxError("exec/too-many", `${waiting} checkpoints wait to keep their contents`);
      waiting += 1;
      const release = await turn.acquire(signal).finally(() => (waiting -= 1));
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch(nothingIfAbsent);
  return text === undefined ? undefined : JSON.parse(text);
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(nothingIfAbsent)) !== undefined;
}

function nothingIfAbsent(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error;
}
