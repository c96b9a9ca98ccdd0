/**
 * Remove: a file, a link, or a folder with all that is in it. What is gone already is no failure. Links are removed and
 * never followed, and a folder is entered by its descriptor, so one that is swapped for a link is refused by the kernel.
 */
import { closeSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FilesRemoveRequest, FilesRemoveResponseSchema } from "@sand/protocol/exec";
import { factsAt, openFolderAt, within } from "./descriptor.ts";
import { errnoOf, toFileError } from "./file-errors.ts";
import type { PathFence } from "./path-fence.ts";
import { createTreeCount, refuseDepth, type TreeCount } from "./tree.ts";
import { atPlace } from "./walk-path.ts";

export async function removePath(
  fence: PathFence,
  request: FilesRemoveRequest,
): Promise<MessageInitShape<typeof FilesRemoveResponseSchema>> {
  const count = createTreeCount();
  try {
    await atPlace(fence, fence.locate(request), { access: "write", follow: false }, async (place) => {
      fence.checkRemovable(place.path);
      await removeTree(place.folder, place.name, { recursive: request.recursive, count, depth: 0 });
    });
  } catch (error) {
    const failure = toFileError(error);
    if (failure.code !== "file/not-found") throw failure;
  }
  return { removed: BigInt(count.entries) };
}

interface Removal {
  /** false: a folder has to be empty */
  readonly recursive: boolean;
  readonly count: TreeCount;
  readonly depth: number;
}

/** Removes all that has this name, for work on copies of our own. */
export async function removeAll(folder: number, name: string): Promise<void> {
  await removeTree(folder, name, { recursive: true, count: createTreeCount(), depth: 0 });
}

async function removeTree(folder: number, name: string, removal: Removal): Promise<void> {
  const { recursive, count, depth } = removal;
  if (!factsAt(folder, name).isDirectory()) {
    await count.add(depth);
    removeQuietly(() => unlinkSync(within(folder, name)));
    return;
  }
  if (recursive) await emptyFolder(folder, name, removal);
  await count.add(depth);
  removeQuietly(() => rmdirSync(within(folder, name)));
}

async function emptyFolder(folder: number, name: string, removal: Removal): Promise<void> {
  refuseDepth(removal.depth);
  const inner = openFolderAt(folder, name);
  try {
    for (const entry of readdirSync(within(inner, "."), { encoding: "latin1" })) {
      try {
        await removeTree(inner, entry, { ...removal, depth: removal.depth + 1 });
      } catch (error) {
        // Somebody else was quicker.
        if (errnoOf(error) !== "ENOENT") throw error;
      }
    }
  } finally {
    closeSync(inner);
  }
}

function removeQuietly(remove: () => void): void {
  try {
    remove();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
