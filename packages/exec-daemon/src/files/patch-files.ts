/** Reads a unified patch, of git or plain: which file each part is about, and what kind of change it is. */
import { posix } from "node:path";
import { BoxError } from "@sand/protocol";
import type { StructuredPatch } from "diff";
import { fileLimits } from "./file-limits.ts";
import { asRaw, type RawPath } from "./raw-path.ts";

export interface FilePatch {
  readonly parsed: StructuredPatch;
  /** relative; undefined: there is none on this side */
  readonly oldPath: RawPath | undefined;
  readonly newPath: RawPath | undefined;
  /** the one to name when something is said about it */
  readonly shown: RawPath;
  /** undefined: as it was */
  readonly mode: number | undefined;
  readonly isCopy: boolean;
}

export interface PatchText {
  readonly patch: Uint8Array;
  readonly strip: number | undefined;
  readonly reverse: boolean;
}

export async function readPatch({ patch, strip, reverse }: PatchText): Promise<readonly FilePatch[]> {
  const { parsePatch, reversePatch } = await import("diff");
  const parsed = parseOrRefuse(() => parsePatch(Buffer.from(patch).toString("latin1")));
  const parts = parsed.filter((part) => part.isGit === true || part.hunks.length > 0);
  if (parts.length === 0) throw new BoxError("exec/invalid", "this is no unified patch");
  if (parts.length > fileLimits.patchFilesMax)
    throw new BoxError("exec/invalid", `a patch is about at most ${fileLimits.patchFilesMax} files`);
  const ordered = reverse ? parts.map((part) => reversePatch(part)).reverse() : parts;
  return ordered.map((part) => toFilePatch(part, strip ?? stripOf(part)));
}

function parseOrRefuse(parse: () => StructuredPatch[]): StructuredPatch[] {
  try {
    return parse();
  } catch (cause) {
    throw new BoxError("exec/invalid", "the patch can't be read", { cause });
  }
}

const noName = "/dev/null";

function stripOf({ oldFileName, newFileName }: StructuredPatch): number {
  const has = (name: string | undefined, start: string): boolean =>
    name === undefined || name === noName || name.startsWith(start);
  const isGitLike = has(oldFileName, "a/") && has(newFileName, "b/");
  // Reversed, the letters have changed places.
  const isReversed = has(oldFileName, "b/") && has(newFileName, "a/");
  return isGitLike || isReversed ? 1 : 0;
}

function toFilePatch(parsed: StructuredPatch, strip: number): FilePatch {
  if (parsed.isBinary === true)
    throw new BoxError("exec/unsupported", "a binary part of a patch has no content to apply");
  const oldPath = parsed.isCreate === true ? undefined : pathOf(parsed.oldFileName, strip);
  const newPath = parsed.isDelete === true ? undefined : pathOf(parsed.newFileName, strip);
  const shown = newPath ?? oldPath;
  if (shown === undefined) throw new BoxError("exec/invalid", "a part of the patch names no file");
  return {
    parsed,
    oldPath,
    newPath,
    shown,
    mode: modeOf(parsed.newMode),
    isCopy: parsed.isCopy === true,
  };
}

function pathOf(name: string | undefined, strip: number): RawPath | undefined {
  if (name === undefined || name === noName) return undefined;
  const path = posix.normalize(name.split("/").slice(strip).join("/"));
  if (path.startsWith("/") || path === "." || path.split("/").includes(".."))
    throw new BoxError("exec/invalid", "the patch names a file outside of its folder");
  return asRaw(path);
}

function modeOf(mode: string | undefined): number | undefined {
  if (mode === undefined) return undefined;
  if (!/^100[0-7]{3}$/u.test(mode))
    throw new BoxError("exec/unsupported", "a patch makes files, and no links or others");
  return Number.parseInt(mode.slice(-3), 8);
}
