/** Link: a symbolic link. What it leads to is judged when it is followed, so it may lead anywhere. */
import { symlinkSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesLinkRequest, FilesLinkResponseSchema } from "@sand/protocol/exec";
import { adoptOwner } from "./adopt-owner.ts";
import { within } from "./descriptor.ts";
import { describeAt } from "./file-info.ts";
import type { PathFence } from "./path-fence.ts";
import { putInPlace } from "./put-in-place.ts";
import { bytesOf, rawOfAsked } from "./raw-path.ts";
import { removeAll } from "./remove.ts";
import { temporaryName } from "./replace-file.ts";
import { atPlace } from "./walk-path.ts";

export async function makeLink(
  fence: PathFence,
  request: FilesLinkRequest,
): Promise<MessageInitShape<typeof FilesLinkResponseSchema>> {
  const path = fence.locate(request);
  const target = rawOfAsked({ path: request.target, pathBytes: request.targetBytes });
  if (target === "") throw new BoxError("exec/invalid", "a link needs a target");
  const options = { access: "write", follow: false, parents: true } as const;
  return await atPlace(fence, path, options, async (place) => {
    const staged = temporaryName(place.name);
    symlinkSync(bytesOf(target), within(place.folder, staged));
    try {
      adoptOwner(place.folder, staged);
      putInPlace(place, staged, request.overwrite);
    } finally {
      // In its place by now, or refused there.
      await removeAll(place.folder, staged).catch(() => undefined);
    }
    const file = describeAt(place.folder, place.name, fence.show(path));
    return file === undefined ? {} : { file };
  });
}
