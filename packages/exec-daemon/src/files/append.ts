/**
 * Append: adds to the end of a file. Who says what size the file has before can repeat the call: bytes that are there
 * already at that place are known as added.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesAppendRequest, FilesAppendResponseSchema } from "@sand/protocol/exec";
import { adoptOwner } from "./adopt-owner.ts";
import { checkSize } from "./current-file.ts";
import { within } from "./descriptor.ts";
import { errnoOf } from "./file-errors.ts";
import type { OneByOne } from "./one-by-one.ts";
import { openRegular } from "./open-regular.ts";
import type { PathFence } from "./path-fence.ts";
import { newFileMode } from "./replace-file.ts";
import { atPlace, type Place } from "./walk-path.ts";

type AppendAnswer = MessageInitShape<typeof FilesAppendResponseSchema>;

export async function appendToFile(
  { fence, oneByOne }: { readonly fence: PathFence; readonly oneByOne: OneByOne },
  request: FilesAppendRequest,
): Promise<AppendAnswer> {
  checkSize(request.data.length);
  const options = { access: "write", follow: true, parents: true } as const;
  return await atPlace(fence, fence.locate(request), options, (place) =>
    oneByOne(place.path, () => append(fence, place, request)),
  );
}

async function append(fence: PathFence, place: Place, request: FilesAppendRequest): Promise<AppendAnswer> {
  const created = await makeEmpty(place);
  const handle = await openRegular(fence, place, constants.O_RDWR | constants.O_APPEND, "write");
  try {
    const { size } = await handle.stat({ bigint: true });
    const expected = request.expectedSizeBytes;
    if (expected !== undefined && expected !== size) {
      if (await isThere(handle, request.data, expected, size))
        return { sizeBytes: size, created: false, existing: true };
      throw new BoxError("file/precondition", `the file has ${size} bytes, and not ${expected}`);
    }
    await handle.writeFile(request.data);
    await handle.datasync();
    return { sizeBytes: size + BigInt(request.data.length), created, existing: false };
  } finally {
    await handle.close();
  }
}

async function makeEmpty(place: Place): Promise<boolean> {
  try {
    await (await open(within(place.folder, place.name), "wx", newFileMode)).close();
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
  adoptOwner(place.folder, place.name);
  return true;
}

async function isThere(handle: FileHandle, data: Uint8Array, from: bigint, size: bigint): Promise<boolean> {
  if (size !== from + BigInt(data.length)) return false;
  const found = Buffer.alloc(data.length);
  const { bytesRead } = await handle.read(found, 0, found.length, Number(from));
  return bytesRead === data.length && found.equals(data);
}
