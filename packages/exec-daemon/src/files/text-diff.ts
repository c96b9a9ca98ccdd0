/**
 * The difference of two texts as a unified patch. Texts are bytes, one character each, so what a file really holds is
 * what the patch holds. Two that are too far apart to be compared in time are told as one block for another.
 */
import type { StructuredPatch } from "diff";
import { looksBinary } from "./looks-binary.ts";

export interface TextDiffRequest {
  /** undefined: there is no such file on this side */
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
  /** one character for each byte */
  readonly oldName: string;
  readonly newName: string;
  readonly contextLines: number;
}

export interface TextDiffAnswer {
  /** empty for what is binary */
  readonly patch: Uint8Array;
  readonly addedLines: number;
  readonly removedLines: number;
  readonly binary: boolean;
}

/** how long two texts are compared before they are told as wholly different */
const compareMaxMs = 1000;
const probeBytes = 8 * 1024;
const noName = "/dev/null";

export async function diffTexts(request: TextDiffRequest): Promise<TextDiffAnswer> {
  const sides = [request.before, request.after].map((side) => side ?? new Uint8Array());
  if (sides.some((side) => looksBinary(side.subarray(0, probeBytes))))
    return { patch: new Uint8Array(), addedLines: 0, removedLines: 0, binary: true };
  const [before = "", after = ""] = sides.map((side) => Buffer.from(side).toString("latin1"));
  const { structuredPatch, formatPatch } = await import("diff");
  const names = [
    request.before === undefined ? noName : `a/${request.oldName}`,
    request.after === undefined ? noName : `b/${request.newName}`,
  ] as const;
  const options = { context: request.contextLines, timeout: compareMaxMs };
  const patch =
    structuredPatch(...names, before, after, undefined, undefined, options) ??
    wholePatch(names, before, after);
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  return {
    patch: Buffer.from(patch.hunks.length === 0 ? "" : withoutIndex(formatPatch(patch)), "latin1"),
    addedLines: lines.filter((line) => line.startsWith("+")).length,
    removedLines: lines.filter((line) => line.startsWith("-")).length,
    binary: false,
  };
}

function wholePatch(names: readonly [string, string], before: string, after: string): StructuredPatch {
  const [removed, added] = [linesOf(before), linesOf(after)];
  const hunk = {
    oldStart: removed.length === 0 ? 0 : 1,
    oldLines: removed.length,
    newStart: added.length === 0 ? 0 : 1,
    newLines: added.length,
    lines: [...mark("-", removed, before), ...mark("+", added, after)],
  };
  const [oldFileName, newFileName] = names;
  return { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks: [hunk] };
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/u, "").split("\n");
}

function mark(sign: string, lines: readonly string[], text: string): readonly string[] {
  const marked = lines.map((line) => `${sign}${line}`);
  return lines.length === 0 || text.endsWith("\n") ? marked : [...marked, "\\ No newline at end of file"];
}

/** The lines above the names that only Subversion has. */
function withoutIndex(patch: string): string {
  return patch.slice(Math.max(0, patch.indexOf("--- ")));
}
