/** ListStream: the same as List without a bound, in the order in which the folders give their entries, held by nobody. */
import { closeSync } from "node:fs";
import { opendir } from "node:fs/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FilesListStreamRequest, FilesListStreamResponseSchema } from "@sand/protocol/exec";
import { openFolderAt, realPathOf, within } from "./descriptor.ts";
import { describeAt, type FileInfo } from "./file-info.ts";
import { fileLimits } from "./file-limits.ts";
import { depthOf, treatAsEmpty } from "./list.ts";
import type { PathFence } from "./path-fence.ts";
import { joinRaw, type RawPath } from "./raw-path.ts";
import { atPlace } from "./walk-path.ts";

export async function* streamFolder(
  fence: PathFence,
  request: FilesListStreamRequest,
): AsyncGenerator<MessageInitShape<typeof FilesListStreamResponseSchema>> {
  const path = fence.locate(request);
  const root = await atPlace(fence, path, { access: "read", follow: true }, async (place) =>
    openFolderAt(place.folder, place.name),
  );
  let entries: FileInfo[] = [];
  for await (const entry of walkFolder(fence, root, fence.show(path), depthOf(request.depth))) {
    entries.push(entry);
    if (entries.length < fileLimits.streamEntries) continue;
    yield { entries };
    entries = [];
  }
  if (entries.length > 0) yield { entries };
}

/** Closes the folder that it is given. */
async function* walkFolder(
  fence: PathFence,
  folder: number,
  shown: RawPath,
  depth: number,
): AsyncGenerator<FileInfo> {
  const below: string[] = [];
  try {
    fence.check(realPathOf(folder), "read");
    const options = { encoding: "latin1", bufferSize: fileLimits.turnEntries } as const;
    for await (const entry of await opendir(within(folder, ".").toString("latin1"), options)) {
      const info = describeAt(folder, entry.name, joinRaw(shown, entry.name));
      if (info === undefined) continue;
      yield info;
      if (depth > 1 && entry.isDirectory()) below.push(entry.name);
    }
    for (const name of below) {
      try {
        yield* walkFolder(fence, openFolderAt(folder, name), joinRaw(shown, name), depth - 1);
      } catch (error) {
        treatAsEmpty(error);
      }
    }
  } finally {
    closeSync(folder);
  }
}
