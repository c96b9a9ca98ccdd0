/** Puts what the daemon knows of a file into the words of this surface. Pure but for the names of accounts. */
import { basename, dirname, posix } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type EntryInfoSchema, EntryType } from "@sand/protocol/e2b";
import { type FileInfo, FileType } from "@sand/protocol/exec";
import type { AccountNames } from "./account-names.ts";

export type EntryInit = MessageInitShape<typeof EntryInfoSchema>;

export function toEntry(
  info: FileInfo,
  names: AccountNames,
  metadata: Readonly<Record<string, string>> = {},
): EntryInit {
  const seconds = info.modifiedAtMs / 1000n;
  return {
    name: info.path === "/" ? "/" : basename(info.path),
    path: info.path,
    type: toEntryType(info.type),
    size: info.sizeBytes,
    mode: info.mode,
    permissions: permissionText(info.type, info.mode),
    owner: names.owner(info.uid),
    group: names.group(info.gid),
    modifiedTime: { seconds, nanos: Number(info.modifiedAtMs - seconds * 1000n) * 1_000_000 },
    ...(info.type === FileType.SYMLINK
      ? { symlinkTarget: posix.resolve(dirname(info.path), info.linkTarget ?? "") }
      : {}),
    metadata: { ...metadata },
  };
}

function toEntryType(type: FileType): EntryType {
  switch (type) {
    case FileType.FILE:
      return EntryType.FILE;
    case FileType.DIRECTORY:
      return EntryType.DIRECTORY;
    case FileType.SYMLINK:
      return EntryType.SYMLINK;
    case FileType.OTHER:
    case FileType.UNSPECIFIED:
      return EntryType.UNSPECIFIED;
  }
}

/** As `ls -l` writes it. */
export function permissionText(type: FileType, mode: number): string {
  const letters = [
    ...[bit(mode, 0o400, "r"), bit(mode, 0o200, "w"), special(mode, 0o100, 0o4000, "s")],
    ...[bit(mode, 0o040, "r"), bit(mode, 0o020, "w"), special(mode, 0o010, 0o2000, "s")],
    ...[bit(mode, 0o004, "r"), bit(mode, 0o002, "w"), special(mode, 0o001, 0o1000, "t")],
  ];
  return typeLetter(type) + letters.join("");
}

function bit(mode: number, mask: number, letter: string): string {
  return (mode & mask) === 0 ? "-" : letter;
}

function special(mode: number, execute: number, extra: number, letter: string): string {
  if ((mode & extra) === 0) return bit(mode, execute, "x");
  return (mode & execute) === 0 ? letter.toUpperCase() : letter;
}

function typeLetter(type: FileType): string {
  if (type === FileType.DIRECTORY) return "d";
  return type === FileType.SYMLINK ? "l" : "-";
}
