/**
 * Copy: a file, a link as it is, or a folder with all that is in it. The copy is made under a name of our own beside
 * its destination and shows there only when it is whole; one that fails is removed.
 */
import {
  chmodSync,
  closeSync,
  constants,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesCopyRequest, FilesCopyResponseSchema } from "@sand/protocol/exec";
import { isBeneath } from "@sand/sandbox-policy";
import { adoptOwner } from "./adopt-owner.ts";
import { again, factsAt, openFolderAt, realPathOf, within } from "./descriptor.ts";
import { describeAt } from "./file-info.ts";
import { openRegular } from "./open-regular.ts";
import type { PathFence } from "./path-fence.ts";
import { putInPlace } from "./put-in-place.ts";
import { asRaw, joinRaw, rawOfAsked } from "./raw-path.ts";
import { removeAll } from "./remove.ts";
import { temporaryName } from "./replace-file.ts";
import { createTreeCount, type TreeCount } from "./tree.ts";
import { atPlace, type Place } from "./walk-path.ts";

export interface Copied {
  readonly count: TreeCount;
  sizeBytes: number;
  skipped: number;
}

export async function copyPath(
  fence: PathFence,
  request: FilesCopyRequest,
): Promise<MessageInitShape<typeof FilesCopyResponseSchema>> {
  const destination = destinationOf(fence, request);
  const copied: Copied = { count: createTreeCount(), sizeBytes: 0, skipped: 0 };
  const file = await atPlace(fence, fence.locate(request), { access: "read", follow: false }, (source) =>
    atPlace(fence, destination, { access: "write", follow: false, parents: true }, async (target) => {
      checkApart(source, target);
      await copyBeside(fence, { source, target }, copied, (staged) =>
        putInPlace(target, staged, request.overwrite),
      );
      return describeAt(target.folder, target.name, fence.show(destination));
    }),
  );
  return {
    ...(file === undefined ? {} : { file }),
    entries: BigInt(copied.count.entries),
    sizeBytes: BigInt(copied.sizeBytes),
    skipped: BigInt(copied.skipped),
  };
}

export function destinationOf(
  fence: PathFence,
  request: { readonly destination: string; readonly destinationBytes: Uint8Array },
) {
  return fence.locateRaw(rawOfAsked({ path: request.destination, pathBytes: request.destinationBytes }));
}

export function checkApart(source: Place, target: Place): void {
  if (isBeneath(target.path, source.path) || isBeneath(source.path, target.path))
    throw new BoxError("exec/invalid", "source and destination lie within each other");
}

interface Ends {
  readonly source: Place;
  readonly target: Place;
}

/** Makes the copy beside the target and hands its name on; whatever is left of it then is removed. */
export async function copyBeside(
  fence: PathFence,
  { source, target }: Ends,
  copied: Copied,
  use: (staged: string) => void | Promise<void>,
): Promise<void> {
  const staged = temporaryName(target.name);
  const to = { folder: target.folder, name: asRaw(staged), path: joinRaw(target.path, `../${staged}`) };
  try {
    if (!(await copyEntry(fence, { source, target: to }, copied, 0)))
      throw new BoxError("file/not-a-file", "only files, links and folders can be copied");
    await use(staged);
  } finally {
    await removeAll(target.folder, staged).catch(() => undefined);
  }
}

/** False for what can't be copied. */
async function copyEntry(fence: PathFence, ends: Ends, copied: Copied, depth: number): Promise<boolean> {
  const { source, target } = ends;
  const facts = factsAt(source.folder, source.name);
  await copied.count.add(depth);
  if (facts.isSymbolicLink()) {
    const held = readlinkSync(within(source.folder, source.name), "buffer");
    symlinkSync(held, within(target.folder, target.name));
  } else if (facts.isDirectory()) {
    await copyFolder(fence, ends, copied, depth);
  } else if (facts.isFile()) {
    copied.sizeBytes += await copyContent(fence, ends);
  } else {
    copied.skipped += 1;
    return false;
  }
  adoptOwner(target.folder, target.name);
  return true;
}

async function copyContent(fence: PathFence, { source, target }: Ends): Promise<number> {
  const from = await openRegular(fence, source, constants.O_RDONLY, "read");
  try {
    const facts = await from.stat();
    const exclusive = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;
    await copyFile(again(from.fd), within(target.folder, target.name), exclusive);
    const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const to = openSync(within(target.folder, target.name), flags);
    try {
      // Never more than permissions: a copy by another account has no claim to the bits beyond them.
      chmodSync(again(to), facts.mode & 0o777);
      futimesSync(to, facts.atimeMs / 1000, facts.mtimeMs / 1000);
    } finally {
      closeSync(to);
    }
    return facts.size;
  } finally {
    await from.close();
  }
}

async function copyFolder(
  fence: PathFence,
  { source, target }: Ends,
  copied: Copied,
  depth: number,
): Promise<void> {
  const from = openFolderAt(source.folder, source.name);
  try {
    fence.check(realPathOf(from), "read");
    mkdirSync(within(target.folder, target.name), { mode: 0o700 });
    const to = openFolderAt(target.folder, target.name);
    try {
      for (const entry of readdirSync(within(from, "."), { encoding: "latin1" })) {
        const name = asRaw(entry);
        const inner = {
          source: { folder: from, name, path: joinRaw(source.path, name) },
          target: { folder: to, name, path: joinRaw(target.path, name) },
        };
        await copyEntry(fence, inner, copied, depth + 1);
      }
      chmodSync(again(to), Number(factsAt(source.folder, source.name).mode) & 0o777);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}
