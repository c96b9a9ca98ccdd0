/** Grep: lines that match a pattern, typed, with their files and numbers. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesGrepRequest, FilesGrepResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { asRaw, joinRaw, textOf as pathText, type RawPath, rawOfText, wirePath } from "./raw-path.ts";
import type { Search } from "./search-program.ts";

const newline = 10;
const contextLinesMax = 20;
const globsMax = 32;
const fileMaxSize = "16M";

export async function grepFiles(
  search: Search,
  request: FilesGrepRequest,
): Promise<MessageInitShape<typeof FilesGrepResponseSchema>> {
  if (request.pattern === "") throw new BoxError("exec/invalid", "the pattern is empty");
  if (request.globs.length > globsMax || request.types.length > globsMax)
    throw new BoxError("exec/invalid", "too many globs or types");
  const matchesMax = Math.min(
    request.matchesMax === 0 ? limits.searchMatchesMax : request.matchesMax,
    limits.searchMatchesMax,
  );
  const found: FoundLine[] = [];
  let [matches, skipped, hasMore] = [0, 0, false];
  const end = await search({
    at: request,
    args: grepArgs(request),
    separator: newline,
    deadlineMs: request.deadlineMs,
    onRecord(record) {
      const line = request.filesOnly ? parseName(record) : parseRecord(record);
      if (line === undefined) return true;
      if (line.isMatch && skipped < request.skipMatches) {
        skipped += 1;
        return true;
      }
      // Context of matches that an earlier page has.
      if (!line.isMatch && skipped < request.skipMatches) return true;
      hasMore = line.isMatch && matches === matchesMax;
      if (hasMore) return false;
      if (line.isMatch) matches += 1;
      found.push(line);
      return true;
    },
  });
  const lines = found.map(({ raw, ...line }) => ({ ...line, ...wirePath(shownPath(end.shownRoot, raw)) }));
  return {
    lines,
    truncated: end.truncated,
    timedOut: end.timedOut,
    nextSkipMatches: hasMore ? request.skipMatches + matchesMax : 0,
  };
}

function grepArgs(request: FilesGrepRequest): readonly string[] {
  return [
    ...["--no-config", "--hidden", "--max-filesize", fileMaxSize, "--sort", "path"],
    ...(request.filesOnly
      ? ["--files-with-matches"]
      : ["--json", "--context", String(Math.min(request.contextLines, contextLinesMax))]),
    ...(request.literal ? ["--fixed-strings"] : []),
    ...(request.ignoreCase ? ["--ignore-case"] : []),
    ...(request.word ? ["--word-regexp"] : []),
    ...(request.multiline ? ["--multiline"] : []),
    ...(request.noIgnore ? ["--no-ignore"] : []),
    ...request.types.map((type) => `--type=${type}`),
    ...request.globs.flatMap((glob) => ["--glob", glob]),
    ...["--glob", "!.git", `--regexp=${request.pattern}`],
  ];
}

interface RipgrepText {
  readonly text?: string;
  readonly bytes?: string;
}

interface RipgrepRecord {
  readonly type: string;
  readonly data: {
    readonly path?: RipgrepText;
    readonly lines?: RipgrepText;
    readonly line_number?: number | null;
  };
}

interface FoundLine {
  readonly raw: RawPath | undefined;
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
}

function parseRecord(record: Buffer): FoundLine | undefined {
  // The program writes one JSON object on each line; its documented shape is the type above.
  const { type, data } = JSON.parse(record.toString("utf8")) as RipgrepRecord;
  if (type !== "match" && type !== "context") return undefined;
  const text = textOf(data.lines)
    .replace(/\r?\n$/u, "")
    .slice(0, limits.searchLineMaxChars);
  return { raw: rawOf(data.path), line: data.line_number ?? 0, text, isMatch: type === "match" };
}

function parseName(record: Buffer): FoundLine {
  return { raw: asRaw(record.toString("latin1")), line: 0, text: "", isMatch: true };
}

function textOf(given: RipgrepText | undefined): string {
  return given?.text ?? pathText(rawOf(given) ?? asRaw(""));
}

function rawOf(given: RipgrepText | undefined): RawPath | undefined {
  if (given?.text !== undefined) return rawOfText(given.text);
  return given?.bytes === undefined
    ? undefined
    : asRaw(Buffer.from(given.bytes, "base64").toString("latin1"));
}

/** Relative results lie below the searched folder; a searched file names itself. */
function shownPath(root: RawPath, path: RawPath | undefined): RawPath {
  return path === undefined || path.startsWith("/") ? root : joinRaw(root, path);
}
