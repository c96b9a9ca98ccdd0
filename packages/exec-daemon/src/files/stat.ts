/** Stat: what one path is, the link itself or what it leads to. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesStatRequest, FilesStatResponseSchema } from "@sand/protocol/exec";
import { describeAt } from "./file-info.ts";
import type { PathFence } from "./path-fence.ts";
import { atPlace } from "./walk-path.ts";

export async function statPath(
  fence: PathFence,
  request: FilesStatRequest,
): Promise<MessageInitShape<typeof FilesStatResponseSchema>> {
  const path = fence.locate(request);
  return await atPlace(fence, path, { access: "read", follow: request.follow }, async (place) => {
    const file = describeAt(place.folder, place.name, fence.show(path));
    if (file === undefined) throw new BoxError("file/not-found", "there is nothing at this path");
    return { file };
  });
}
