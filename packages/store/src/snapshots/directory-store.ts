/**
 * Snapshots in a directory: one file for each object, each written whole under its name or not at all.
 *
 * Conditions are decided under a lock that the kernel gives up when its holder dies (`lock.db`, as for the data root),
 * so they hold between all processes of a machine. On a directory that several machines share they hold as far as that
 * file system's locks do.
 */

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { syncFolder, writeFileAtomicSync } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { isLockedByOther, openForLocking } from "../sqlite.ts";
import { sha256Of } from "./hash.ts";
import type { ListedObject, ObjectStore, StoredBytes } from "./object-store.ts";

/** how long a condition waits for another process that decides one, in `ms` */
const lockMaxMs = 20_000;
const lockPauseMs = 20;
const temporaryFolder = "tmp";
/** an unfinished file of this age has no writer any more, in `ms` */
const temporaryMaxMs = 3_600_000;

export interface DirectoryStoreOptions {
  readonly path: string;
  /** a rest after each write, as a share of the time that it took: a disk that others wait for gets its turn */
  readonly restShare?: number;
}

export function openDirectoryStore({ path, restShare = 0 }: DirectoryStoreOptions): ObjectStore {
  const unsettled = new Set<string>();

  async function writeTemporary(bytes: Uint8Array): Promise<string> {
    const temporary = join(path, temporaryFolder, randomBytes(8).toString("hex"));
    await mkdir(dirname(temporary), { recursive: true, mode: 0o700 });
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.datasync();
    } finally {
      await file.close();
    }
    return temporary;
  }

  async function put(key: string, bytes: Uint8Array): Promise<void> {
    const startedMs = performance.now();
    const target = join(path, key);
    const temporary = await writeTemporary(bytes);
    await makeFolder(target);
    await rename(temporary, target);
    unsettled.add(dirname(target));
    if (restShare > 0) await delay((performance.now() - startedMs) * restShare);
  }

  return {
    address: path,
    parallel: 1,
    put: (key, bytes) => asUnavailable(() => put(key, bytes)),
    create: (key, bytes) =>
      asUnavailable(async () => {
        const target = join(path, key);
        const temporary = await writeTemporary(bytes);
        await makeFolder(target);
        try {
          await link(temporary, target);
        } catch (error) {
          if (hasCode(error, "EEXIST")) return { kind: "exists" };
          throw error;
        } finally {
          await rm(temporary, { force: true });
        }
        syncFolder(dirname(target));
        return { kind: "created" };
      }),
    replace: ({ key, bytes, etag }) =>
      asUnavailable(async () => {
        using _lock = await lockStore(path);
        const target = join(path, key);
        const now = await readIfThere(target);
        if (now === undefined || sha256Of(now) !== etag) return { kind: "stale" };
        writeFileAtomicSync(target, bytes);
        return { kind: "replaced" };
      }),
    get: (key, range) => asUnavailable(() => read(join(path, key), range)),
    list: (prefix) => listFiles(path, prefix),
    remove: (key) => asUnavailable(() => rm(join(path, key), { force: true })),
    settle: () =>
      asUnavailable(async () => {
        for (const folder of unsettled) syncFolder(folder);
        unsettled.clear();
      }),
    tidy: () => asUnavailable(() => removeOldTemporaries(join(path, temporaryFolder))),
    async close() {},
  };
}

/** What writers that were killed left; one that still writes has a young file. */
async function removeOldTemporaries(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    const isOld = found !== undefined && found.mtimeMs < Date.now() - temporaryMaxMs;
    if (isOld) await rm(join(folder, name), { force: true });
  }
}

async function makeFolder(target: string): Promise<void> {
  const made = await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  if (made !== undefined) syncFolder(dirname(made));
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

async function read(
  path: string,
  range: { readonly from: number; readonly to: number } | undefined,
): Promise<StoredBytes | undefined> {
  const bytes = await readIfThere(path);
  if (bytes === undefined) return undefined;
  const part = range === undefined ? bytes : bytes.subarray(range.from, range.to);
  return { bytes: part, etag: sha256Of(bytes) };
}

async function* listFiles(root: string, prefix: string): AsyncIterable<ListedObject> {
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  let names: string[] = [];
  try {
    names = await readdir(join(root, folder));
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw unavailable(error);
  }
  for (const name of names) {
    const key = `${folder}${name}`;
    if (!key.startsWith(prefix)) continue;
    const found = await stat(join(root, key)).catch(() => undefined);
    if (found?.isFile() === true) yield { key, bytes: found.size };
  }
}

/** Taken for the moment of one decision; a holder that dies gives it up. */
async function lockStore(path: string): Promise<Disposable> {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const endMs = performance.now() + lockMaxMs;
  for (;;) {
    const connection = openForLocking(join(path, "lock.db"));
    try {
      connection.exec("BEGIN EXCLUSIVE");
      return { [Symbol.dispose]: () => void connection.close() };
    } catch (error) {
      connection.close();
      if (!isLockedByOther(error) || performance.now() > endMs) throw error;
    }
    await delay(lockPauseMs);
  }
}

/** Whether a directory is a store of ours or nothing yet; anything else is somebody's folder. */
export function looksLikeStore(path: string): boolean {
  let names: string[];
  try {
    names = readdirSync(path);
  } catch {
    // Not there yet.
    return true;
  }
  const ours = new Set([
    "objects",
    "manifests",
    "probe",
    temporaryFolder,
    "head.json",
    "lock.db",
    "lost+found",
  ]);
  return names.every(
    (name) => ours.has(name) || name.startsWith("lock.db-") || /^\.head\.json\./u.test(name),
  );
}

async function asUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof BoxError ? error : unavailable(error);
  }
}

function unavailable(cause: unknown): BoxError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BoxError("box-store/unavailable", `the directory of the box store can't be used: ${why}`, {
    cause,
    hint: "check that it exists, may be written to and has space",
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
