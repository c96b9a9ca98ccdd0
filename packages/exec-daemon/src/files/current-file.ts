/** What is at a place before it is written, and whether that is what the writer expects. */
import { type BigIntStats, constants } from "node:fs";
import { BoxError } from "@sand/protocol";
import { limits } from "../limits.ts";
import { errnoOf } from "./file-errors.ts";
import { openRegular } from "./open-regular.ts";
import type { PathFence } from "./path-fence.ts";
import { hashHandle } from "./read.ts";
import type { Place } from "./walk-path.ts";

export interface CurrentFile {
  /** null: there is none */
  readonly sha256: string | null;
  readonly facts: BigIntStats | undefined;
}

export async function readCurrent(fence: PathFence, place: Place): Promise<CurrentFile> {
  return await lookAtCurrent(fence, place, true);
}

/** `wantsDigest` false leaves the digest empty, for a caller who has no expectation of the content. */
export async function lookAtCurrent(
  fence: PathFence,
  place: Place,
  wantsDigest: boolean,
): Promise<CurrentFile> {
  let handle: Awaited<ReturnType<typeof openRegular>>;
  try {
    handle = await openRegular(fence, place, constants.O_RDONLY, "write");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return { sha256: null, facts: undefined };
    throw error;
  }
  try {
    const facts = await handle.stat({ bigint: true });
    return { sha256: wantsDigest ? await hashHandle(handle) : "", facts };
  } finally {
    await handle.close();
  }
}

/** Whether there is to be looked at the content for this expectation. */
export function needsDigest(precondition: string): boolean {
  return precondition !== "" && precondition !== "absent";
}

export function checkExpected(precondition: string, current: string | null): void {
  if (precondition === "") return;
  if (precondition === "absent" ? current === null : precondition === current) return;
  const found = current === null ? "there is no such file" : "the file has other content";
  throw new BoxError("file/precondition", `${found} than this write expects`);
}

export function checkSize(bytes: number): void {
  if (bytes > limits.fileWriteMaxBytes)
    throw new BoxError("file/too-large", "the content is too large; send it in pieces (UploadPiece)");
}
