/** Glob: files whose path matches a pattern, the newest first. Ignored files and `.git` are left out. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesGlobRequest, FilesGlobResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { asRaw, bytesOf, joinRaw, oddBytesOf, textOf } from "./raw-path.ts";
import type { Search } from "./search-program.ts";

export async function globFiles(
  search: Search,
  request: FilesGlobRequest,
): Promise<MessageInitShape<typeof FilesGlobResponseSchema>> {
  if (request.pattern === "") throw new BoxError("exec/invalid", "the pattern is empty");
  const filesMax = Math.min(
    request.filesMax === 0 ? limits.searchFilesMax : request.filesMax,
    limits.searchFilesMax,
  );
  const found: string[] = [];
  let skipped = 0;
  let hasMore = false;
  const end = await search({
    at: request,
    args: [
      ...["--no-config", "--hidden", "--null", "--sortr", "modified"],
      ...(request.noIgnore ? ["--no-ignore"] : []),
      ...["--glob", request.pattern, "--glob", "!.git", "--files"],
    ],
    separator: 0,
    deadlineMs: request.deadlineMs,
    onRecord(record) {
      if (skipped < request.skipFiles) {
        skipped += 1;
        return true;
      }
      hasMore = found.length === filesMax;
      if (hasMore) return false;
      found.push(record.toString("latin1"));
      return true;
    },
  });
  const paths = found.map((path) => joinRaw(end.shownRoot, asRaw(path)));
  const isOdd = paths.some((path) => oddBytesOf(path).length > 0);
  return {
    paths: paths.map(textOf),
    pathsBytes: isOdd ? paths.map((path) => new Uint8Array(bytesOf(path))) : [],
    truncated: end.truncated,
    timedOut: end.timedOut,
    nextSkipFiles: hasMore ? request.skipFiles + filesMax : 0,
  };
}
