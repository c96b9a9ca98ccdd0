/**
 * Descriptors as the anchor of every file operation. A folder that is open stays the folder that was checked, whatever
 * its name is turned into, so all that follows goes by `/proc/self/fd/<n>/<name>`, as `openat` would.
 *
 * `O_PATH` opens without touching: nothing is read, no driver wakes, and a pipe doesn't wait.
 */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { asRaw, type RawPath } from "./raw-path.ts";

/** of Linux on x64 and arm64; Node has no name for it */
export const O_PATH = 0o10000000;

export const folderFlags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The path of what has this name in the open folder. */
export function within(folder: number, name: string): Buffer {
  return Buffer.from(`/proc/self/fd/${folder}/${name}`, "latin1");
}

/** The path that opens anew what is open, itself. */
export function again(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** Where it really lies, by the kernel. */
export function realPathOf(fd: number): RawPath {
  return asRaw(readlinkSync(again(fd), "latin1"));
}

export function openFolderAt(folder: number, name: string): number {
  return openSync(within(folder, name), folderFlags);
}

export function withDescriptor<T>(fd: number, work: (fd: number) => T): T {
  try {
    return work(fd);
  } finally {
    closeSync(fd);
  }
}

/** What has this name, itself: a link isn't followed. */
export function factsAt(folder: number, name: string): BigIntStats {
  return withDescriptor(openSync(within(folder, name), O_PATH | constants.O_NOFOLLOW), (fd) =>
    fstatSync(fd, { bigint: true }),
  );
}

/** Another text after each write, each replacement and each change of the mode. */
export function versionOf(facts: BigIntStats): string {
  const parts = [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs];
  return parts.map((part) => part.toString(36)).join("-");
}
