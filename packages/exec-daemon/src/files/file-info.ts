/** What one entry of a folder is, as the messages say it. A link is shown, not followed. */
import { type BigIntStats, readlinkSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type FileInfoSchema, FileType } from "@sand/protocol/exec";
import { factsAt, versionOf, within } from "./descriptor.ts";
import { errnoOf } from "./file-errors.ts";
import { asRaw, oddBytesOf, type RawPath, textOf, wirePath } from "./raw-path.ts";

export type FileInfo = MessageInitShape<typeof FileInfoSchema>;

/** Undefined when it is gone. `shown` is the path that it is told under. */
export function describeAt(folder: number, name: string, shown: RawPath): FileInfo | undefined {
  try {
    const facts = factsAt(folder, name);
    const target = facts.isSymbolicLink() ? asRaw(readlinkSync(within(folder, name), "latin1")) : undefined;
    return describeFacts(facts, shown, target);
  } catch (error) {
    // Removed, or made into something else, between the listing and our look.
    if (["ENOENT", "EINVAL"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

export function describeFacts(facts: BigIntStats, shown: RawPath, target?: RawPath): FileInfo {
  return {
    ...wirePath(shown),
    type: typeOf(facts),
    sizeBytes: facts.size,
    mode: Number(facts.mode) & 0o7777,
    modifiedAtMs: facts.mtimeMs > 0n ? facts.mtimeMs : 0n,
    uid: Number(facts.uid),
    gid: Number(facts.gid),
    inode: facts.ino,
    version: versionOf(facts),
    ...(target === undefined ? {} : { linkTarget: textOf(target), linkTargetBytes: oddBytesOf(target) }),
  };
}

export function typeOf(facts: {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}): FileType {
  if (facts.isFile()) return FileType.FILE;
  if (facts.isDirectory()) return FileType.DIRECTORY;
  return facts.isSymbolicLink() ? FileType.SYMLINK : FileType.OTHER;
}
