/** Make: a folder and those above it. One that is there already is said, and a file there is refused. */
import { chmodSync, mkdirSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesMakeRequest, FilesMakeResponseSchema } from "@sand/protocol/exec";
import { adoptOwner } from "./adopt-owner.ts";
import { again, factsAt, openFolderAt, withDescriptor, within } from "./descriptor.ts";
import { errnoOf } from "./file-errors.ts";
import { describeAt } from "./file-info.ts";
import type { PathFence } from "./path-fence.ts";
import { atPlace, type Place } from "./walk-path.ts";

export async function makeFolder(
  fence: PathFence,
  request: FilesMakeRequest,
): Promise<MessageInitShape<typeof FilesMakeResponseSchema>> {
  const path = fence.locate(request);
  const options = { access: "write", follow: true, parents: true } as const;
  return await atPlace(fence, path, options, async (place) => {
    const created = make(place, request.mode & 0o7777);
    if (!created && !factsAt(place.folder, place.name).isDirectory())
      throw new BoxError("file/not-a-directory", "there is something else than a folder");
    const file = describeAt(place.folder, place.name, fence.show(path));
    return { created, ...(file === undefined ? {} : { file }) };
  });
}

function make(place: Place, mode: number): boolean {
  try {
    mkdirSync(within(place.folder, place.name));
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
  adoptOwner(place.folder, place.name);
  // By its descriptor: a link that took its place meanwhile would lend our rights to whoever made it.
  if (mode !== 0)
    withDescriptor(openFolderAt(place.folder, place.name), (folder) => chmodSync(again(folder), mode));
  return true;
}
