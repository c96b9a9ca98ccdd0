/**
 * Fills an empty data root from a snapshot.
 *
 * Everything is written to a folder beside the root first, proved, made durable, and then takes the root's place by one
 * rename. Where that can't be, because the root is a mount of its own, files are written in place; either way the root
 * says that it is partial from before the first file to after the last one, and a partial root is neither started nor
 * backed up. A restore that was interrupted is gone on with, from the same snapshot only.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createSemaphore, failpoint, syncFolder } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { chooseSnapshot } from "./choose-snapshot.ts";
import { checkFile, fetchFile } from "./fetch-file.ts";
import type { ObjectStore } from "./object-store.ts";
import { readManifest } from "./read-manifest.ts";
import { type Origin, readRootState, writeRootState } from "./root-state.ts";
import { readCatalog } from "./snapshot-catalog.ts";
import type { SnapshotFile, SnapshotManifest, SnapshotRow } from "./snapshot-manifest.ts";

export interface RestoreOptions {
  readonly root: string;
  readonly store: ObjectStore;
  /** an id or a time; the newest when absent */
  readonly at?: string;
  /** proves everything and writes nothing */
  readonly dryRun: boolean;
  readonly onFile?: (done: number, total: number) => void;
}

export interface Restored {
  readonly row: SnapshotRow;
  readonly manifest: SnapshotManifest;
  /** databases that fail SQLite's own check: they were damaged when they were backed up */
  readonly damaged: readonly string[];
}

/** files that are fetched at once */
const parallelMax = 4;

export async function restoreSnapshot(options: RestoreOptions): Promise<Restored> {
  const { root, store, at } = options;
  const catalog = await readCatalog(store);
  const row = chooseSnapshot(catalog.snapshots, at);
  const manifest = await readManifest(store, row);
  if (options.dryRun) {
    await eachFile(options, manifest.files, (file) => checkFile(store, file));
    return { row, manifest, damaged: [] };
  }
  const from: Origin = { store: store.address, snapshotId: row.id, epoch: catalog.epoch };
  refuseUsedRoot(root, from);
  const place =
    isOwnMount(root) || readRootState(root).hydration.state === "partial" ? root : stageOf(root, row);
  const { ownerId } = readRootState(place);
  mkdirSync(place, { recursive: true, mode: 0o700 });
  writeRootState(place, { ownerId, hydration: { state: "partial", from } });
  await eachFile(options, manifest.files, (file) => fetchFile(store, file, join(place, file.path)));
  syncFolders(place, manifest.files);
  const damaged = manifest.files.filter((file) => !isSound(place, file)).map(({ path }) => path);
  failpoint("restore.written");
  writeRootState(place, { ownerId, hydration: { state: "complete", from } });
  if (place !== root) install(place, root);
  return { row, manifest, damaged };
}

async function eachFile(
  options: RestoreOptions,
  files: readonly SnapshotFile[],
  work: (file: SnapshotFile) => Promise<void>,
): Promise<void> {
  const places = createSemaphore(Math.min(parallelMax, options.store.parallel), {
    waitersMax: files.length + 1,
  });
  let done = 0;
  let failed = false;
  await Promise.all(
    files.map(async (file) => {
      const release = await places.acquire();
      try {
        // One failure ends it: the others aren't begun any more.
        if (!failed) await work(file);
        done += 1;
        options.onFile?.(done, files.length);
      } catch (error) {
        failed = true;
        throw error;
      } finally {
        release();
      }
    }),
  );
}

function refuseUsedRoot(root: string, from: Origin): void {
  const names = listNames(root).filter((name) => name !== "lost+found");
  if (names.length === 0) return;
  const { hydration } = existsSync(join(root, "box-store"))
    ? readRootState(root)
    : { hydration: { state: "none" } as const };
  if (hydration.state === "partial" && isSameOrigin(hydration.from, from)) return;
  if (hydration.state === "partial") {
    throw new BoxError(
      "box-store/incomplete",
      `${root} holds a part of snapshot ${hydration.from.snapshotId}`,
      {
        hint: `finish it with --at ${hydration.from.snapshotId}, or remove the folder and begin anew`,
      },
    );
  }
  const isLive = names.includes("host.lock");
  throw new BoxError("box-store/incomplete", `${root} is ${isLive ? "in use by a host" : "not empty"}`, {
    hint: isLive
      ? "end that host (sand down) and restore into another folder: --data-root <folder>"
      : "restore into a folder that is empty or not there yet: --data-root <folder>",
  });
}

function isSameOrigin(left: Origin, right: Origin): boolean {
  return left.store === right.store && left.snapshotId === right.snapshotId;
}

function isOwnMount(root: string): boolean {
  const own = statSync(root, { throwIfNoEntry: false });
  return own !== undefined && own.dev !== statSync(dirname(root)).dev;
}

/** The same name for the same snapshot, so that an interrupted restore is found again. */
function stageOf(root: string, row: SnapshotRow): string {
  return join(dirname(root), `.${basename(root)}.restore-${row.id}`);
}

/** Over an empty folder or over nothing; anything else is refused by the system. */
function install(place: string, root: string): void {
  syncFolder(place);
  renameSync(place, root);
  syncFolder(dirname(root));
}

function syncFolders(place: string, files: readonly SnapshotFile[]): void {
  const folders = new Set<string>([place]);
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
      folders.add(join(place, folder));
  }
  for (const folder of folders) syncFolder(folder);
}

/** Closing the only connection takes its log files away again. */
function isSound(place: string, file: SnapshotFile): boolean {
  if (file.kind !== "database") return true;
  try {
    const database = new SqliteDatabase(join(place, file.path), { fileMustExist: true });
    try {
      return database.pragma("quick_check(1)", { simple: true }) === "ok";
    } finally {
      database.close();
    }
  } catch {
    // That it can't be opened is what is asked here.
    return false;
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
