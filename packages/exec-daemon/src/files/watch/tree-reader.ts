/** Reads folders that are new to a watch, starts their notifiers, and forgets them again; keeps to the budget. */
import { closeSync, readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BoxError } from "@sand/protocol";
import { FileType } from "@sand/protocol/exec";
import { openFolderAt, within } from "../descriptor.ts";
import { toFileError } from "../file-errors.ts";
import { fileLimits } from "../file-limits.ts";
import { joinRaw, type RawPath } from "../raw-path.ts";
import type { SeenEntry } from "./seen-entry.ts";
import type { WatchBudget } from "./watch-budget.ts";
import { lookAtEntry, type OnNotice, pathOf, type WatchedFolder, watchFolder } from "./watched-folder.ts";

export interface TreeReaderDeps {
  readonly recursive: boolean;
  readonly isLeftOut: (name: string) => boolean;
  readonly budget: WatchBudget;
  readonly onNotice: OnNotice;
}

type OnFound = (path: RawPath, entry: SeenEntry) => void;

export interface TreeReader {
  readonly entries: number;
  /** Watches and reads the folder of this descriptor, which stays the caller's, and all below. */
  readTop(fd: number): Promise<WatchedFolder>;
  /** The same for one that is an entry of a watched folder; one that can't be entered is left as it is. */
  enter(parent: WatchedFolder, fd: number, name: string, onFound?: OnFound): Promise<void>;
  remember(folder: WatchedFolder, name: string, entry: SeenEntry): void;
  drop(folder: WatchedFolder, name: string): void;
  forget(folder: WatchedFolder): void;
  takeTurn(): Promise<void>;
}

export function createTreeReader(deps: TreeReaderDeps): TreeReader {
  let entries = 0;
  let turn = 0;

  function start(fd: number, at: Pick<WatchedFolder, "parent" | "name">): WatchedFolder {
    deps.budget.take();
    try {
      return watchFolder(fd, at, deps.onNotice);
    } catch (error) {
      deps.budget.giveBack();
      throw error;
    }
  }

  async function takeTurn(): Promise<void> {
    turn += 1;
    if (turn % fileLimits.turnEntries === 0) await nextTurn();
  }

  function remember(folder: WatchedFolder, name: string, entry: SeenEntry): void {
    if (!folder.entries.has(name)) entries += 1;
    folder.entries.set(name, entry);
    if (entries > fileLimits.watchEntriesMax)
      throw new BoxError(
        "file/watch-limit",
        `there are more than ${fileLimits.watchEntriesMax} entries; name in \`ignore\` what needn't be watched`,
      );
  }

  async function fill(folder: WatchedFolder, fd: number, onFound: OnFound | undefined): Promise<void> {
    const path = pathOf(folder);
    for (const name of readdirSync(within(fd, "."), { encoding: "latin1" })) {
      await takeTurn();
      if (deps.isLeftOut(name) || folder.entries.has(name)) continue;
      const entry = lookAtEntry(fd, name);
      if (entry === undefined) continue;
      remember(folder, name, entry);
      onFound?.(joinRaw(path, name), entry);
      if (deps.recursive && entry.type === FileType.DIRECTORY) await enter(folder, fd, name, onFound);
    }
  }

  async function enter(parent: WatchedFolder, fd: number, name: string, onFound?: OnFound): Promise<void> {
    let inner: number | undefined;
    if (depthOf(parent) >= fileLimits.treeDepthMax)
      throw new BoxError(
        "file/watch-limit",
        `the tree is deeper than ${fileLimits.treeDepthMax} folders; name in \`ignore\` what needn't be watched`,
      );
    try {
      inner = openFolderAt(fd, name);
      const folder = start(inner, { parent, name });
      parent.folders.set(name, folder);
      await fill(folder, inner, onFound);
    } catch (error) {
      const failure = toFileError(error);
      // Closed to this account, or gone again: there is nothing to see.
      if (!["file/denied", "file/not-found", "file/not-a-directory"].includes(failure.code)) throw failure;
    } finally {
      if (inner !== undefined) closeSync(inner);
    }
  }

  function forget(folder: WatchedFolder): void {
    for (const inner of folder.folders.values()) forget(inner);
    folder.folders.clear();
    entries -= folder.entries.size;
    folder.entries.clear();
    if (!folder.isClosed) deps.budget.giveBack();
    folder.close();
  }

  return {
    get entries() {
      return entries;
    },
    async readTop(fd) {
      const top = start(fd, { parent: undefined, name: "" });
      try {
        await fill(top, fd, undefined);
        return top;
      } catch (error) {
        forget(top);
        throw error;
      }
    },
    enter,
    remember,
    drop(folder, name) {
      if (folder.entries.delete(name)) entries -= 1;
    },
    forget,
    takeTurn,
  };
}

function depthOf(folder: WatchedFolder): number {
  let depth = 0;
  for (let at = folder.parent; at !== undefined; at = at.parent) depth += 1;
  return depth;
}
