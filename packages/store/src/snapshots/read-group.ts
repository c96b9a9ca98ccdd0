/**
 * Reads one agent's files, or the shared ones, into entries of a manifest, and holds their new pieces for the upload.
 *
 * A file that can't be read doesn't fail the snapshot, or one damaged agent would end all backups: its last good state
 * is carried over from the snapshot before, and the manifest says so. A file that is gone is gone.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { BoxError } from "@sand/protocol";
import { isDamage } from "../sqlite.ts";
import type { ChunkUploads } from "./chunk-uploads.ts";
import { type FileSign, signFile } from "./file-signs.ts";
import type { SnapshotGroup } from "./find-snapshot-files.ts";
import { snapshotLimits } from "./limits.ts";
import { type DatabasePin, openPin, watchDatabase } from "./live-database.ts";
import { type Content, readPieces } from "./read-pieces.ts";
import type { FileKind, SkippedFile, SnapshotFile } from "./snapshot-manifest.ts";

export interface ReadGroupDeps {
  readonly root: string;
  readonly uploads: ChunkUploads;
  /** the snapshot before, by path */
  readonly earlier: ReadonlyMap<string, SnapshotFile>;
  /** how its files looked then */
  readonly signs: ReadonlyMap<string, string>;
  readonly nowMs: () => number;
}

export interface Gathered {
  readonly files: SnapshotFile[];
  readonly signs: Map<string, string>;
  readonly skipped: SkippedFile[];
}

export async function readGroup(deps: ReadGroupDeps, group: SnapshotGroup, into: Gathered): Promise<void> {
  await readDatabases(deps, group.databases, into);
  for (const path of group.files) {
    await readOne(deps, into, path, async () => readFile(deps, path, into));
  }
}

/** All of them at one moment: what a store says of a payload holds in the file that has the payload. */
async function readDatabases(deps: ReadGroupDeps, paths: readonly string[], into: Gathered): Promise<void> {
  if (paths.length === 0) return;
  // Signed first: a change in between makes a sign too old, and the next snapshot reads the file again.
  const signs = new Map(
    paths.map((path) => [path, signFile(join(deps.root, path), "database", deps.nowMs())]),
  );
  if (paths.every((path) => isUnchanged(deps, path, signs.get(path)))) {
    for (const path of paths) keepEarlier(deps, path, into);
    return;
  }
  using pins = new DisposableStack();
  const opened: OpenedPin[] = [];
  for (const path of paths) {
    await readOne(deps, into, path, async () => {
      opened.push({ path, pin: pins.use(openPin(join(deps.root, path))) });
    });
  }
  if (!(await tryPinTogether(deps, opened, into))) return;
  for (const { path, pin } of opened) {
    // Nothing slow is waited for in here: what is new is held, and sent when the pins are gone.
    await readOne(deps, into, path, async () => {
      const database = pin.database();
      const content = readPieces(database.bytes, database.read, deps.uploads.hold);
      const sign = signs.get(path);
      if (sign !== undefined) add({ deps, path, kind: "database", content, sign, into });
    });
  }
  pins.dispose();
  await deps.uploads.send();
}

interface OpenedPin {
  readonly path: string;
  readonly pin: DatabasePin;
}

/** False when they are left out of this snapshot, all of them, with the reason told. */
async function tryPinTogether(
  deps: ReadGroupDeps,
  opened: readonly OpenedPin[],
  into: Gathered,
): Promise<boolean> {
  try {
    if (await pinTogether(deps, opened)) return true;
    for (const { path } of opened) skip(deps, path, "it was changed without a pause", into);
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    for (const { path } of opened) skip(deps, path, reason, into);
  }
  return false;
}

/**
 * The first one refers to the others; so they are pinned again while it changes before the last one is. One that never
 * keeps still for that moment is left for the next snapshot.
 */
async function pinTogether(deps: ReadGroupDeps, opened: readonly OpenedPin[]): Promise<boolean> {
  const [first, second] = opened;
  if (first === undefined) return false;
  using watch = second === undefined ? undefined : watchDatabase(join(deps.root, first.path));
  for (let tries = 0; tries < snapshotLimits.pinTriesMax; tries += 1) {
    const version = watch?.version();
    for (const { pin } of opened) pin.pin();
    if (watch?.version() === version) return true;
    for (const { pin } of opened) pin.release();
    // Not in step with a writer that has a rhythm.
    await delay(tries % 7);
  }
  return false;
}

async function readFile(deps: ReadGroupDeps, path: string, into: Gathered): Promise<void> {
  const full = join(deps.root, path);
  const sign = signFile(full, "file", deps.nowMs());
  if (isUnchanged(deps, path, sign)) {
    keepEarlier(deps, path, into);
    return;
  }
  const descriptor = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // What is added while it is read belongs to the next snapshot.
    const { size } = fstatSync(descriptor);
    const read = (from: number, length: number): Buffer => readExactly(descriptor, from, length);
    const content = readPieces(size, read, deps.uploads.hold);
    add({ deps, path, kind: "file", content, sign, into });
  } finally {
    closeSync(descriptor);
  }
  await deps.uploads.send();
}

function readExactly(descriptor: number, from: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const got = readSync(descriptor, buffer, done, length - done, from + done);
    if (got === 0) throw new BoxError("box-store/busy", "the file got shorter while it was read");
    done += got;
  }
  return buffer;
}

/** One file, again while it is in motion; in the end it is skipped for a reason, or gone. */
async function readOne(
  deps: ReadGroupDeps,
  into: Gathered,
  path: string,
  read: () => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await read();
      return;
    } catch (error) {
      deps.uploads.drop();
      if (hasCode(error, "ENOENT")) return;
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      const isMoving = error instanceof BoxError && error.code === "box-store/busy";
      if (isMoving && tries < snapshotLimits.readTriesMax) continue;
      skip(deps, path, reason, into);
      return;
    }
  }
}

/** Why this file alone can't be read; `undefined` for what fails the whole snapshot */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof BoxError) return error.code === "box-store/busy" ? error.message : undefined;
  if (isDamage(error)) return "the database is damaged";
  if (hasCode(error, "EACCES") || hasCode(error, "EPERM") || hasCode(error, "ELOOP"))
    return "it may not be read";
  if (hasCode(error, "EIO")) return "the disk can't read it";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(?:SQLITE_|ENOENT)/u.test(code) ? `it can't be opened (${code})` : undefined;
}

function skip(deps: ReadGroupDeps, path: string, reason: string, into: Gathered): void {
  const keptEarlier = deps.earlier.has(path);
  if (keptEarlier) into.files.push(...earlierOf(deps, path));
  if (into.skipped.length < snapshotLimits.skippedMax) into.skipped.push({ path, reason, keptEarlier });
}

interface Addition {
  readonly deps: ReadGroupDeps;
  readonly path: string;
  readonly kind: FileKind;
  readonly content: Content;
  readonly sign: FileSign;
  readonly into: Gathered;
}

function add({ deps, path, kind, content, sign, into }: Addition): void {
  const { mode } = statSync(join(deps.root, path));
  into.files.push({ path, kind, mode: mode & 0o700, ...content });
  if (sign.isOld) into.signs.set(path, sign.text);
}

function keepEarlier(deps: ReadGroupDeps, path: string, into: Gathered): void {
  into.files.push(...earlierOf(deps, path));
  const sign = deps.signs.get(path);
  if (sign !== undefined) into.signs.set(path, sign);
}

function earlierOf(deps: ReadGroupDeps, path: string): readonly SnapshotFile[] {
  const file = deps.earlier.get(path);
  return file === undefined ? [] : [file];
}

function isUnchanged(deps: ReadGroupDeps, path: string, sign: FileSign | undefined): boolean {
  return sign !== undefined && deps.earlier.has(path) && deps.signs.get(path) === sign.text;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
