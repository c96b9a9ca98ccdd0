/** Glob: files whose path matches a pattern, the newest first. Ignored files and `.git` are left out. */
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesGlobRequest, FilesGlobResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
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
  const end = await search({
    path: request.path,
    args: [
      "--no-config",
      "--hidden",
      "--null",
      "--sortr",
      "modified",
      "--glob",
      request.pattern,
      "--glob",
      "!.git",
      "--files",
    ],
    separator: 0,
    onRecord(record) {
      if (found.length === filesMax) return false;
      found.push(record.toString("utf8"));
      return true;
    },
  });
  return {
    paths: found.map((path) => join(end.shownRoot, path)),
    truncated: end.truncated,
    timedOut: end.timedOut,
  };
}
