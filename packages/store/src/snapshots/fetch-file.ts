/** Writes one file of a snapshot from its pieces, each proved by its hash before it is written, and the whole after. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { BoxError } from "@sand/protocol";
import { sha256Of } from "./hash.ts";
import { type ObjectStore, storeKeys } from "./object-store.ts";
import type { SnapshotFile } from "./snapshot-manifest.ts";

/** A file that is there already, of an interrupted restore, is kept when it is the right one. */
export async function fetchFile(store: ObjectStore, file: SnapshotFile, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  if (await isThere(file, target)) return;
  const temporary = `${target}.restoring`;
  await rm(temporary, { force: true });
  const output = await open(temporary, "wx", 0o600);
  try {
    const whole = createHash("sha256");
    for await (const piece of fetchPieces(store, file)) {
      whole.update(piece);
      await output.writeFile(piece);
    }
    if (whole.digest("hex") !== file.sha256) throw damaged(file, "its pieces don't make the file");
    await output.chmod(file.mode);
    await output.sync();
  } finally {
    await output.close();
  }
  await rename(temporary, target);
}

/** Reads and proves all of a file without writing it. */
export async function checkFile(store: ObjectStore, file: SnapshotFile): Promise<void> {
  const whole = createHash("sha256");
  for await (const piece of fetchPieces(store, file)) whole.update(piece);
  if (whole.digest("hex") !== file.sha256) throw damaged(file, "its pieces don't make the file");
}

async function* fetchPieces(store: ObjectStore, file: SnapshotFile): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for (const sha256 of file.chunks) {
    const found = await store.get(storeKeys.object(sha256));
    if (found === undefined) throw damaged(file, "a piece of it is missing");
    if (sha256Of(found.bytes) !== sha256) throw damaged(file, "a piece of it is not what was written");
    bytes += found.bytes.length;
    yield found.bytes;
  }
  if (bytes !== file.bytes) throw damaged(file, "it doesn't have its size");
}

async function isThere(file: SnapshotFile, target: string): Promise<boolean> {
  const found = await stat(target).catch(() => undefined);
  if (found === undefined || found.size !== file.bytes) return false;
  const whole = createHash("sha256");
  for await (const part of createReadStream(target)) if (part instanceof Uint8Array) whole.update(part);
  return whole.digest("hex") === file.sha256;
}

function damaged(file: SnapshotFile, why: string): BoxError {
  return new BoxError("box-store/damaged", `${file.path} can't be restored: ${why}`, {
    hint: "choose another snapshot with --at; --list shows them",
    details: { path: file.path },
  });
}
