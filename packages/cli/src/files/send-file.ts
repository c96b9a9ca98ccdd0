/**
 * Sends one file into the box, in pieces. The upload's name follows from the file and its destination, so that the same
 * command given again goes on where the first one stopped; the digest of the whole is compared at the end.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { CommandFailure } from "../command-failure.ts";
import { type BoxFiles, callOptions } from "./box-files.ts";
import { type BytePath, toBuffer, toText, toWire } from "./byte-path.ts";
import type { CopyTally } from "./copy-tally.ts";

export interface SendDeps {
  readonly box: BoxFiles;
  readonly tally: CopyTally;
  readonly signal: AbortSignal;
}

const pieceBytes = 1024 * 1024;

export async function sendFile(deps: SendDeps, source: BytePath, destination: BytePath): Promise<void> {
  const handle = await open(toBuffer(source), "r");
  try {
    const facts = await handle.stat();
    const upload = {
      pathBytes: toWire(destination),
      uploadId: idOf([source, destination, String(facts.size), String(facts.mtimeMs)]),
    };
    deps.tally.begin(toText(source), facts.size);
    const sending: Sending = { deps, handle, upload, sizeBytes: facts.size, mode: facts.mode & 0o777 };
    const { sizeBytes } = await deps.box.call((files) => files.uploadStatus(upload, callOptions));
    const isDone = await sendFrom(sending, Math.min(Number(sizeBytes), facts.size));
    // What lay there wasn't the beginning of this file after all.
    if (!isDone) {
      await deps.box.call((files) => files.uploadDrop(upload, callOptions));
      if (!(await sendFrom(sending, 0)))
        throw new CommandFailure("failed", `${toText(source)} changes while it is copied`);
    }
    deps.tally.end();
  } finally {
    await handle.close();
  }
}

function idOf(parts: readonly string[]): string {
  return `sand-cp-${createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 32)}`;
}

interface Sending {
  readonly deps: SendDeps;
  readonly handle: FileHandle;
  readonly upload: { readonly pathBytes: Uint8Array<ArrayBuffer>; readonly uploadId: string };
  readonly sizeBytes: number;
  readonly mode: number;
}

/** False when the whole that has arrived is another. */
async function sendFrom(sending: Sending, arrived: number): Promise<boolean> {
  const { deps, handle, upload } = sending;
  const hash = createHash("sha256");
  const buffer = new Uint8Array(pieceBytes);
  let offset = 0;
  for (;;) {
    deps.signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    if (bytesRead === 0) break;
    const data = buffer.subarray(0, bytesRead);
    hash.update(data);
    if (offset + bytesRead <= arrived) deps.tally.advance(bytesRead, "resumed");
    else {
      const piece = { ...upload, offset: BigInt(offset), data };
      await deps.box.call((files) => files.uploadPiece(piece, callOptions));
      deps.tally.advance(bytesRead, "copied");
    }
    offset += bytesRead;
  }
  const commit = {
    ...{ ...upload, mode: sending.mode },
    sizeBytes: BigInt(offset),
    sha256: hash.digest("hex"),
  };
  try {
    await deps.box.call((files) => files.uploadCommit(commit, callOptions));
    return true;
  } catch (error) {
    if (error instanceof CommandFailure && error.failureCode === "file/precondition") return false;
    throw error;
  }
}
