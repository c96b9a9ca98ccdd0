/**
 * Move: gives a file, link or folder another path. Within a device it is one rename. Between devices it is copied, put
 * in place, and only then is the source removed: who is killed in the middle has both, never neither.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesMoveRequest, FilesMoveResponseSchema } from "@sand/protocol/exec";
import { type Copied, checkApart, copyBeside, destinationOf } from "./copy.ts";
import { errnoOf } from "./file-errors.ts";
import { describeAt } from "./file-info.ts";
import type { PathFence } from "./path-fence.ts";
import { putInPlace, rename } from "./put-in-place.ts";
import { removeAll } from "./remove.ts";
import { createTreeCount } from "./tree.ts";
import { atPlace, type Place } from "./walk-path.ts";

export async function movePath(
  fence: PathFence,
  request: FilesMoveRequest,
): Promise<MessageInitShape<typeof FilesMoveResponseSchema>> {
  const destination = destinationOf(fence, request);
  return await atPlace(fence, fence.locate(request), { access: "write", follow: false }, (source) => {
    fence.checkRemovable(source.path);
    const options = { access: "write", follow: false, parents: true } as const;
    return atPlace(fence, destination, options, async (target) => {
      if (source.path !== target.path) checkApart(source, target);
      const copied = await moveTo(fence, source, target, request.overwrite);
      const file = describeAt(target.folder, target.name, fence.show(destination));
      return { copied, ...(file === undefined ? {} : { file }) };
    });
  });
}

/** True when it had to be copied. */
async function moveTo(fence: PathFence, source: Place, target: Place, overwrite: boolean): Promise<boolean> {
  // To itself: nothing is to be done, whether or not something may be replaced.
  if (source.path === target.path) return false;
  try {
    rename(source, target, overwrite);
    return false;
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
  }
  const copied: Copied = { count: createTreeCount(), sizeBytes: 0, skipped: 0 };
  await copyBeside(fence, { source, target }, copied, (staged) => {
    // What can't be copied would be gone with the source.
    if (copied.skipped > 0)
      throw new BoxError("file/not-a-file", "sockets, pipes and devices can't move to another device");
    putInPlace(target, staged, overwrite);
  });
  await removeAll(source.folder, source.name);
  return true;
}
