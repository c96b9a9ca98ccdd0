/**
 * Fetches one file out of the box, in pieces, all of one version of it. They gather in a hidden file beside the
 * destination, named by that version, so that the same command given again goes on where the first one stopped.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { FilesReadResponse } from "@sand/protocol/exec";
import { CommandFailure } from "../command-failure.ts";
import { callOptions } from "./box-files.ts";
import { asBytePath, type BytePath, joinBytes, toBuffer, toText, toWire } from "./byte-path.ts";
import { isAbsent } from "./is-absent.ts";
import type { SendDeps } from "./send-file.ts";

const pieceBytes = 1024 * 1024;
const keptNameMaxBytes = 100;

export async function fetchFile(deps: SendDeps, source: BytePath, destination: BytePath): Promise<void> {
  const first = await readPiece(deps, source, 0, "");
  const size = Number(first.totalBytes);
  deps.tally.begin(toText(source), size);
  const part = partOf(destination, first.version);
  // A link that has the name is not followed: what is copied goes where it was told to, and nowhere else.
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  const handle = await openHere(part, flags);
  try {
    await gather(deps, { handle, source, first, size });
    await handle.chmod(first.mode & 0o777);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(toBuffer(part), toBuffer(destination));
  deps.tally.end();
}

async function openHere(path: BytePath, flags: number): Promise<FileHandle> {
  try {
    return await open(toBuffer(path), flags, 0o600);
  } catch (cause) {
    const folder = toText(asBytePath(dirname(path)));
    if (isAbsent(cause))
      throw new CommandFailure("notFound", `there is no folder ${folder} here`, {
        hint: "make it first",
        cause,
      });
    const said = cause instanceof Error ? cause.message : "";
    throw new CommandFailure("failed", `nothing can be written in ${folder}: ${said}`, { cause });
  }
}

function partOf(destination: BytePath, version: string): BytePath {
  const mark = createHash("sha256").update(version).digest("hex").slice(0, 16);
  const name = `.${basename(destination).slice(0, keptNameMaxBytes)}.${mark}.sand-part`;
  return joinBytes(asBytePath(dirname(destination)), name);
}

interface Gathering {
  readonly handle: FileHandle;
  readonly source: BytePath;
  readonly first: FilesReadResponse;
  readonly size: number;
}

async function gather(deps: SendDeps, { handle, source, first, size }: Gathering): Promise<void> {
  // The last piece may have been cut in the middle of it.
  const kept = (await handle.stat()).size;
  let offset = Math.min(Math.floor(kept / pieceBytes) * pieceBytes, size);
  await handle.truncate(offset);
  deps.tally.advance(offset, "resumed");
  while (offset < size) {
    deps.signal.throwIfAborted();
    const { data } = offset === 0 ? first : await readPiece(deps, source, offset, first.version);
    if (data.length === 0) throw new CommandFailure("failed", `${toText(source)} became shorter meanwhile`);
    await handle.write(data, 0, data.length, offset);
    offset += data.length;
    deps.tally.advance(data.length, "copied");
  }
}

async function readPiece(
  { box }: SendDeps,
  source: BytePath,
  offset: number,
  expectedVersion: string,
): Promise<FilesReadResponse> {
  const request = { pathBytes: toWire(source), offset: BigInt(offset), lengthMax: pieceBytes };
  try {
    return await box.call((files) =>
      files.read({ ...request, noDigest: true, expectedVersion }, callOptions),
    );
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.failureCode !== "file/precondition") throw error;
    throw new CommandFailure("conflict", `${toText(source)} was changed while it was copied`, {
      hint: "copy it again",
      cause: error,
    });
  }
}
