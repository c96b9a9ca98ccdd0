/**
 * Makes a damaged blob file anew from the blobs that can still be read in it. Each is proved by its name, so nothing
 * wrong is taken over; one that was removed before may come back, and the collector removes it again.
 *
 * The damaged files are moved aside, never deleted, and only when the new one is whole and on disk.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { quarantine } from "../quarantine.ts";
import { type FoundRow, findRows } from "../recovery/find-rows.ts";
import { openPageImage } from "../recovery/page-image.ts";
import { readSchema } from "../recovery/read-schema.ts";
import { finishInstall } from "../recovery/recover-agent-store.ts";
import { blobPageBytes, openBlobDatabase } from "./blob-database.ts";
import { blobIdOf } from "./blob-id.ts";

/** larger files are left to a restore from a snapshot: their blobs wouldn't fit into memory, in bytes */
const mendMaxBytes = 1_024 * 1_048_576;
/** blobs of one transaction */
const batchSize = 64;

export interface MendedBlobs {
  readonly kept: number;
  /** where the damaged files lie now */
  readonly movedTo: string | undefined;
}

/** Nobody has the file open, but for readers: they keep what they opened. */
export function mendBlobs(path: string, nowMs: number): MendedBlobs {
  refuseTooLarge(path);
  const building = `${path}.building`;
  for (const part of ["", "-wal", "-shm"]) rmSync(building + part, { force: true });
  const kept = copySound(path, building);
  syncFile(building);
  renameSync(building, `${path}.repaired`);
  syncFolder(dirname(path));
  const movedTo = quarantine(path, nowMs);
  finishInstall(path, nowMs);
  return { kept, movedTo };
}

function copySound(path: string, target: string): number {
  using image = openPageImage(path, blobPageBytes);
  const { tables, strays } = findRows(image, readSchema(image));
  const fresh = openBlobDatabase(target);
  let kept = 0;
  try {
    let batch: Uint8Array[] = [];
    for (const row of [...(tables.get("blobs")?.rows ?? []), ...strays]) {
      const data = soundData(row);
      if (data !== undefined) batch.push(data);
      if (batch.length < batchSize) continue;
      kept += fresh.put(batch).length;
      batch = [];
    }
    if (batch.length > 0) kept += fresh.put(batch).length;
  } finally {
    // Closing writes the log back into the file, so that the file alone is whole.
    fresh.database.close();
  }
  return kept;
}

function soundData({ values: [id, data] }: FoundRow): Uint8Array | undefined {
  return data instanceof Uint8Array && blobIdOf(data) === id ? data : undefined;
}

function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function refuseTooLarge(path: string): void {
  const bytes = ["", "-wal"].reduce(
    (sum, part) => sum + (statSync(path + part, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  if (bytes <= mendMaxBytes) return;
  throw new BoxError("store/damaged", "the payloads' file is damaged, and too large to be mended by itself", {
    hint: "restore the agent's folder from a snapshot",
  });
}
