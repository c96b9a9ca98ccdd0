/**
 * What a snapshot consists of. A manifest is written once, named by its own hash, and names every object that it needs,
 * each by the hash of its content: whoever reads one back can prove all of it.
 *
 * It is parsed as what it is, input from outside: no path leads out of the data root, and everything is bounded.
 */
import { BoxError } from "@sand/protocol";
import { isSha256, sha256Of } from "./hash.ts";
import { snapshotLimits } from "./limits.ts";
import { storeKeys } from "./object-store.ts";

export type FileKind = "database" | "file";

export interface SnapshotFile {
  /** below the data root, with slashes */
  readonly path: string;
  readonly kind: FileKind;
  /** permission bits */
  readonly mode: number;
  readonly bytes: number;
  /** of the whole content */
  readonly sha256: string;
  /** of its pieces, in order; all but the last have `snapshotLimits.chunkBytes` */
  readonly chunks: readonly string[];
}

/** A file that couldn't be read. Where an earlier snapshot had it, that state of it is kept. */
export interface SkippedFile {
  readonly path: string;
  readonly reason: string;
  readonly keptEarlier: boolean;
}

export interface SnapshotManifest {
  readonly format: 1;
  /** counts the snapshots of a store */
  readonly number: number;
  /** counts the owners of a store */
  readonly epoch: number;
  readonly ownerId: string;
  readonly takenAtMs: number;
  /** of the pieces, in bytes */
  readonly chunkBytes: number;
  readonly files: readonly SnapshotFile[];
  readonly skipped: readonly SkippedFile[];
}

/** What a list of snapshots says of each. */
export interface SnapshotRow {
  /** what a person names it by */
  readonly id: string;
  readonly number: number;
  readonly epoch: number;
  readonly takenAtMs: number;
  /** the manifest's key in the store */
  readonly key: string;
}

export interface EncodedManifest {
  readonly row: SnapshotRow;
  readonly bytes: Uint8Array;
}

const numberDigits = 10;

export function encodeManifest(manifest: SnapshotManifest): EncodedManifest {
  const bytes = Buffer.from(JSON.stringify(manifest), "utf8");
  if (bytes.length > snapshotLimits.manifestMaxBytes) {
    throw new BoxError("box-store/refused", "there are too many files for one snapshot");
  }
  const { number, epoch, takenAtMs } = manifest;
  const parts = [String(number).padStart(numberDigits, "0"), epoch, takenAtMs, sha256Of(bytes)];
  const key = `${storeKeys.manifests}${parts.join("-")}`;
  const row = parseManifestKey(key);
  if (row === undefined) throw new BoxError("box-store/refused", "the snapshot's number is out of bounds");
  return { row, bytes };
}

/** `undefined` for a key that no manifest of ours has */
export function parseManifestKey(key: string): SnapshotRow | undefined {
  const match = /^manifests\/(\d{10})-(\d{1,10})-(\d{1,15})-([0-9a-f]{64})$/u.exec(key);
  if (match === null) return undefined;
  const [, number, epoch, takenAtMs, sha256 = ""] = match;
  return {
    id: `${Number(number)}-${sha256.slice(0, 8)}`,
    number: Number(number),
    epoch: Number(epoch),
    takenAtMs: Number(takenAtMs),
    key,
  };
}

/** Throws `box-store/damaged` unless the bytes are those that the row names. */
export function decodeManifest(row: SnapshotRow, bytes: Uint8Array): SnapshotManifest {
  if (!row.key.endsWith(`-${sha256Of(bytes)}`))
    throw damaged(row, "its bytes are not those that were written");
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (cause) {
    throw damaged(row, "it is no JSON", cause);
  }
  const manifest = parseManifest(value);
  if (manifest === undefined) throw damaged(row, "it isn't a manifest that this version knows");
  return manifest;
}

function damaged(row: SnapshotRow, why: string, cause?: unknown): BoxError {
  return new BoxError("box-store/damaged", `the manifest of snapshot ${row.id} can't be used: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: "choose another snapshot with --at; --list shows them",
  });
}

function parseManifest(value: unknown): SnapshotManifest | undefined {
  if (!isObject(value) || value.format !== 1) return undefined;
  const { number, epoch, ownerId, takenAtMs, chunkBytes, files, skipped } = value;
  const counts = [number, epoch, takenAtMs, chunkBytes];
  if (!counts.every(isCount) || typeof ownerId !== "string" || !Array.isArray(files)) return undefined;
  if (chunkBytes === 0 || files.length > snapshotLimits.filesMax) return undefined;
  const parsed = files.map((file) => parseFile(file, Number(chunkBytes)));
  if (!parsed.every((file) => file !== undefined)) return undefined;
  if (new Set(parsed.map(({ path }) => path)).size !== parsed.length) return undefined;
  return {
    format: 1,
    number: Number(number),
    epoch: Number(epoch),
    ownerId,
    takenAtMs: Number(takenAtMs),
    chunkBytes: Number(chunkBytes),
    files: parsed,
    skipped: Array.isArray(skipped) ? skipped.flatMap(parseSkipped) : [],
  };
}

export function parseFile(value: unknown, chunkBytes: number): SnapshotFile | undefined {
  if (!isObject(value)) return undefined;
  const { path, kind, mode, bytes, sha256, chunks } = value;
  if (!isSafePath(path) || (kind !== "database" && kind !== "file")) return undefined;
  if (!isCount(mode) || !isCount(bytes) || !isSha256(sha256) || !Array.isArray(chunks)) return undefined;
  if (chunks.length !== Math.ceil(bytes / chunkBytes) || !chunks.every(isSha256)) return undefined;
  return { path, kind, mode: mode & 0o700, bytes, sha256, chunks };
}

function parseSkipped(value: unknown): SkippedFile[] {
  if (!isObject(value) || typeof value.path !== "string" || typeof value.reason !== "string") return [];
  return [{ path: value.path, reason: value.reason, keptEarlier: value.keptEarlier === true }];
}

export function isSafePath(path: unknown): path is string {
  if (typeof path !== "string" || path.length > snapshotLimits.pathMaxChars) return false;
  if (path.includes("\0") || path.includes("\\")) return false;
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
