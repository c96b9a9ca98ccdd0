/** Gives what has one name in a folder another name, over what is there or only where nothing is. */
import { linkSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { BoxError } from "@sand/protocol";
import { factsAt, within } from "./descriptor.ts";
import { errnoOf } from "./file-errors.ts";
import type { Place } from "./walk-path.ts";

export function putInPlace(target: Place, staged: string, overwrite: boolean): void {
  rename({ folder: target.folder, name: staged }, target, overwrite);
}

/**
 * Node has no rename that refuses to replace, so a file gets its second name by a link, which never replaces, and a
 * folder takes the place of an empty one that was just made. Both refuse whatever is there.
 */
export function rename(
  from: { readonly folder: number; readonly name: string },
  to: { readonly folder: number; readonly name: string },
  overwrite: boolean,
): void {
  const [source, target] = [within(from.folder, from.name), within(to.folder, to.name)];
  if (overwrite) {
    renameOver(source, target);
    return;
  }
  if (factsAt(from.folder, from.name).isDirectory()) {
    mkdirSync(target);
    try {
      renameSync(source, target);
    } catch (error) {
      rmdirSync(target);
      throw error;
    }
    return;
  }
  try {
    linkSync(source, target);
  } catch (error) {
    // Some file systems have no links; and the kernel refuses one to a file that isn't ours.
    if (!["EPERM", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errnoOf(error) ?? "")) throw error;
    renameIfAbsent(from, to);
    return;
  }
  unlinkSync(source);
}

function renameOver(source: Buffer, target: Buffer): void {
  try {
    renameSync(source, target);
  } catch (error) {
    if (errnoOf(error) === "EISDIR" || errnoOf(error) === "ENOTDIR")
      throw new BoxError("file/exists", "a file and a folder don't take each other's place", {
        cause: error,
      });
    throw error;
  }
}

function renameIfAbsent(
  from: { readonly folder: number; readonly name: string },
  to: { readonly folder: number; readonly name: string },
): void {
  try {
    factsAt(to.folder, to.name);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    renameSync(within(from.folder, from.name), within(to.folder, to.name));
    return;
  }
  throw new BoxError("file/exists", "there is something at the destination");
}
