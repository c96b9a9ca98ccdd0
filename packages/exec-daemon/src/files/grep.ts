/** Grep: lines that match a pattern, typed, with their files and numbers. */
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesGrepRequest, FilesGrepResponseSchema, GrepLineSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import type { Search } from "./search-program.ts";

const newline = 10;
const contextLinesMax = 20;
const globsMax = 32;
const fileMaxSize = "16M";

type GrepLine = MessageInitShape<typeof GrepLineSchema>;

export async function grepFiles(
  search: Search,
  request: FilesGrepRequest,
): Promise<MessageInitShape<typeof FilesGrepResponseSchema>> {
  if (request.pattern === "") throw new BoxError("exec/invalid", "the pattern is empty");
  if (request.globs.length > globsMax) throw new BoxError("exec/invalid", "too many globs");
  const matchesMax = Math.min(
    request.matchesMax === 0 ? limits.searchMatchesMax : request.matchesMax,
    limits.searchMatchesMax,
  );
  const found: GrepLine[] = [];
  let matches = 0;
  const end = await search({
    path: request.path,
    args: grepArgs(request),
    separator: newline,
    onRecord(record) {
      const line = parseRecord(record);
      if (line === undefined) return true;
      if (line.isMatch && matches === matchesMax) return false;
      if (line.isMatch) matches += 1;
      found.push(line);
      return true;
    },
  });
  const lines = found.map((line) => ({ ...line, path: shownPath(end.shownRoot, line.path) }));
  return { lines, truncated: end.truncated, timedOut: end.timedOut };
}

function grepArgs(request: FilesGrepRequest): readonly string[] {
  return [
    ...["--json", "--no-config", "--hidden", "--max-filesize", fileMaxSize, "--sort", "path"],
    ...["--context", String(Math.min(request.contextLines, contextLinesMax))],
    ...(request.literal ? ["--fixed-strings"] : []),
    ...(request.ignoreCase ? ["--ignore-case"] : []),
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

function parseRecord(
  record: Buffer,
): (GrepLine & { readonly path: string; readonly isMatch: boolean }) | undefined {
  // The program writes one JSON object on each line; its documented shape is the type above.
  const { type, data } = JSON.parse(record.toString("utf8")) as RipgrepRecord;
  if (type !== "match" && type !== "context") return undefined;
  const text = textOf(data.lines)
    .replace(/\r?\n$/u, "")
    .slice(0, limits.searchLineMaxChars);
  return { path: textOf(data.path), line: data.line_number ?? 0, text, isMatch: type === "match" };
}

function textOf(given: RipgrepText | undefined): string {
  return given?.text ?? Buffer.from(given?.bytes ?? "", "base64").toString("utf8");
}

/** Relative results lie below the searched folder; a searched file names itself. */
function shownPath(root: string, path: string | undefined): string {
  return path === undefined || path.startsWith("/") ? root : join(root, path);
}
