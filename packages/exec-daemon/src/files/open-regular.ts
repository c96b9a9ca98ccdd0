/** Opens a regular file and nothing else: a device isn't woken and a pipe isn't waited for, whatever a name is turned into. */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { BoxError } from "@sand/protocol";
import { again, O_PATH, realPathOf, within } from "./descriptor.ts";
import type { Access, PathFence } from "./path-fence.ts";
import type { Place } from "./walk-path.ts";

export async function openRegular(
  fence: PathFence,
  place: Place,
  flags: number,
  access: Access,
): Promise<FileHandle> {
  const fd = openSync(within(place.folder, place.name), O_PATH | constants.O_NOFOLLOW);
  try {
    const facts = fstatSync(fd);
    if (facts.isDirectory()) throw new BoxError("file/not-a-file", "this is a folder");
    if (!facts.isFile()) throw new BoxError("file/not-a-file", "this is not a regular file");
    // What is mounted over the name lies elsewhere than the folder says.
    fence.check(realPathOf(fd), access);
    return await open(again(fd), flags | constants.O_NONBLOCK | constants.O_NOCTTY);
  } finally {
    closeSync(fd);
  }
}
