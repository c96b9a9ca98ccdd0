/**
 * One folder of a watched tree: what is remembered of its entries, and the kernel's notifier of it. Its path is made of
 * the names above it, so a rename high up costs nothing below.
 */
import { type FSWatcher, fstatSync, lstatSync, watch } from "node:fs";
import { BoxError } from "@sand/protocol";
import { again, openFolderAt, withDescriptor, within } from "../descriptor.ts";
import { errnoOf } from "../file-errors.ts";
import { typeOf } from "../file-info.ts";
import { asRaw, joinRaw, type RawPath } from "../raw-path.ts";
import type { SeenEntry } from "./seen-entry.ts";

export interface WatchedFolder {
  readonly inode: number;
  readonly entries: Map<string, SeenEntry>;
  readonly folders: Map<string, WatchedFolder>;
  /** names that the kernel has told of since they were looked at */
  readonly dirty: Set<string>;
  /** every name has to be looked at */
  isUnsure: boolean;
  parent: WatchedFolder | undefined;
  name: string;
  isClosed: boolean;
  close(): void;
}

/** `name` undefined: something, nobody knows what */
export type OnNotice = (folder: WatchedFolder, name: string | undefined) => void;

/** `fd` is of the folder itself and may be closed afterwards. Throws `file/watch-limit` when the kernel has no more. */
export function watchFolder(
  fd: number,
  at: { readonly parent: WatchedFolder | undefined; readonly name: string },
  onNotice: OnNotice,
): WatchedFolder {
  const notifier = startNotifier(fd);
  const folder: WatchedFolder = {
    inode: Number(fstatSync(fd).ino),
    entries: new Map(),
    folders: new Map(),
    dirty: new Set(),
    isUnsure: false,
    ...at,
    isClosed: false,
    close() {
      folder.isClosed = true;
      notifier.close();
      for (const inner of folder.folders.values()) inner.close();
    },
  };
  notifier.on("change", (_kind, name) => onNotice(folder, name === null ? undefined : String(name)));
  // The folder is gone, or the kernel has no memory: what is true is found by looking.
  notifier.on("error", () => onNotice(folder, undefined));
  return folder;
}

function startNotifier(fd: number): FSWatcher {
  try {
    return watch(again(fd), { persistent: false, encoding: "latin1" });
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    if (!["ENOSPC", "EMFILE", "ENFILE", "ENOMEM"].includes(errno)) throw error;
    const setting = errno === "ENOSPC" ? "fs.inotify.max_user_watches" : "fs.inotify.max_user_instances";
    throw new BoxError(
      "file/watch-limit",
      `the system has no more watches (${errno}); ignore large folders, or raise ${setting}`,
      { cause: error },
    );
  }
}

export function pathOf(folder: WatchedFolder): RawPath {
  return folder.parent === undefined ? asRaw("") : joinRaw(pathOf(folder.parent), folder.name);
}

/** A descriptor of where the folder is by its name now, if that is still this folder. */
export function openWatched(root: number, folder: WatchedFolder): number {
  const { parent } = folder;
  if (parent === undefined) return openFolderAt(root, ".");
  const fd = withDescriptor(openWatched(root, parent), (above) => openFolderAt(above, folder.name));
  if (Number(fstatSync(fd).ino) === folder.inode) return fd;
  return withDescriptor(fd, () => {
    throw new BoxError("file/not-found", "another folder has this name now");
  });
}

export function lookAtEntry(folder: number, name: string): SeenEntry | undefined {
  const facts = lstatSync(within(folder, name), { throwIfNoEntry: false });
  return facts === undefined
    ? undefined
    : {
        type: typeOf(facts),
        inode: facts.ino,
        bornMs: facts.birthtimeMs,
        size: facts.size,
        modifiedMs: facts.mtimeMs,
        mode: facts.mode,
        owner: ownerOf(facts),
      };
}

const owners = new Map<string, string>();
const ownersMax = 256;

/** One text for each owner, so that a hundred thousand entries don't hold as many. */
function ownerOf({ uid, gid }: { readonly uid: number; readonly gid: number }): string {
  const text = `${uid}:${gid}`;
  const known = owners.get(text);
  if (known !== undefined) return known;
  if (owners.size < ownersMax) owners.set(text, text);
  return text;
}
