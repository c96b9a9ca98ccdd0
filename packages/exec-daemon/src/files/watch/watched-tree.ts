/**
 * A tree of folders whose changes are found by looking: the kernel says where something may have happened, and what is
 * there now is compared with what was remembered. So nothing depends on every notice being understood.
 *
 * 1. A folder's notifier is started before the folder is read: what changes meanwhile is noticed.
 * 2. Only folders are watched, one notifier each; links are entries and never entered.
 * 3. Where notices may have been lost everything is looked at again, and that is said.
 */
import { closeSync, readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BoxError } from "@sand/protocol";
import { FileType } from "@sand/protocol/exec";
import { openFolderAt, within } from "../descriptor.ts";
import { toFileError } from "../file-errors.ts";
import { fileLimits } from "../file-limits.ts";
import { joinRaw, type RawPath } from "../raw-path.ts";
import { createMoves, type Moves } from "./pair-moves.ts";
import { isSameEntry, judgeEntry, type SeenEntry } from "./seen-entry.ts";
import type { TreeChange } from "./tree-change.ts";
import type { WatchBudget } from "./watch-budget.ts";
import {
  lookAtEntry,
  type OnNotice,
  openWatched,
  pathOf,
  type WatchedFolder,
  watchFolder,
} from "./watched-folder.ts";

export interface WatchedTreeDeps {
  /** an `O_PATH` descriptor of the watched folder, which stays the caller's */
  readonly root: number;
  readonly recursive: boolean;
  readonly isLeftOut: (name: string) => boolean;
  readonly budget: WatchBudget;
  readonly onNotice: OnNotice;
  readonly onChange: (change: TreeChange) => void;
  /** why something may have gone unseen */
  readonly onGap: (reason: string) => void;
}

export interface WatchedTree {
  readonly top: WatchedFolder;
  readonly entries: number;
  /** Looks at what is dirty in these folders and tells what has changed. */
  look(folders: ReadonlySet<WatchedFolder>): Promise<void>;
  /** every folder that is watched now */
  all(): Generator<WatchedFolder>;
  close(): void;
}

/** a rename high up hides what is below until it is known; after so many rounds what can't be found is gone */
const roundsMax = 3;

export async function openWatchedTree(deps: WatchedTreeDeps): Promise<WatchedTree> {
  let entries = 0;
  let turn = 0;

  function start(
    fd: number,
    at: { readonly parent: WatchedFolder | undefined; readonly name: string },
  ): WatchedFolder {
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

  /** Reads a folder that is new to us, and all below. `onFound` undefined: nobody needs to be told. */
  async function fill(
    folder: WatchedFolder,
    fd: number,
    onFound: ((path: RawPath, entry: SeenEntry) => void) | undefined,
  ): Promise<void> {
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

  async function enter(
    parent: WatchedFolder,
    fd: number,
    name: string,
    onFound?: (path: RawPath, entry: SeenEntry) => void,
  ): Promise<void> {
    let inner: number | undefined;
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

  function dropBelow(parent: WatchedFolder, name: string): void {
    const inner = parent.folders.get(name);
    if (inner === undefined) return;
    // All that was in it is told as removed, the innermost first.
    for (const below of inner.folders.keys()) dropBelow(inner, below);
    const path = pathOf(inner);
    for (const [entryName, { type }] of inner.entries)
      deps.onChange({ kind: "remove", path: joinRaw(path, entryName), type });
    parent.folders.delete(name);
    forget(inner);
  }

  async function lookAt(folder: WatchedFolder, moves: Moves<WatchedFolder>): Promise<void> {
    const fd = openWatched(deps.root, folder);
    try {
      const names = folder.isUnsure
        ? new Set([...readdirSync(within(fd, "."), { encoding: "latin1" }), ...folder.entries.keys()])
        : new Set(folder.dirty);
      folder.isUnsure = false;
      folder.dirty.clear();
      for (const name of names) {
        await takeTurn();
        if (!deps.isLeftOut(name)) compare(folder, name, lookAtEntry(fd, name), moves);
      }
    } finally {
      closeSync(fd);
    }
  }

  function compare(
    folder: WatchedFolder,
    name: string,
    after: SeenEntry | undefined,
    moves: Moves<WatchedFolder>,
  ): void {
    const before = folder.entries.get(name);
    const verdict = judgeEntry(before, after);
    const path = joinRaw(pathOf(folder), name);
    if (before !== undefined && (verdict === "removed" || verdict === "replaced")) {
      folder.entries.delete(name);
      entries -= 1;
      moves.left({ folder, name, path, entry: before });
    }
    if (after === undefined) return;
    remember(folder, name, after);
    const { type } = after;
    if (verdict === "created" || verdict === "replaced") moves.came({ folder, name, path, entry: after });
    if (verdict === "written" && before !== undefined) {
      if (isSameEntry(before, after)) deps.onChange({ kind: "write", path, type });
      else {
        // Another file was given this name, and this one may have got another.
        moves.left({ folder, name, path, entry: before, over: true });
        moves.came({ folder, name, path, entry: after, over: true });
      }
    }
    if (verdict === "mode-changed") deps.onChange({ kind: "chmod", path, type });
  }

  async function tell(moves: Moves<WatchedFolder>): Promise<void> {
    const { renamed, removed, created } = moves.settle();
    for (const { from, to } of renamed) {
      const inner = from.folder.folders.get(from.name);
      from.folder.folders.delete(from.name);
      if (inner !== undefined) {
        inner.parent = to.folder;
        inner.name = to.name;
        to.folder.folders.set(to.name, inner);
      }
      deps.onChange({ kind: "rename", path: to.path, oldPath: from.path, type: to.entry.type });
      if (to.over === true) tellContent(to.path, to.entry, true);
    }
    for (const { folder, name, path, entry } of removed) {
      dropBelow(folder, name);
      deps.onChange({ kind: "remove", path, type: entry.type });
    }
    for (const { folder, name, path, entry, over } of created) {
      if (over !== true) deps.onChange({ kind: "create", path, type: entry.type });
      tellContent(path, entry, over === true);
      if (deps.recursive && entry.type === FileType.DIRECTORY) await enterLate(folder, name);
    }
  }

  /** A new file that holds something was written as well. */
  function tellContent(path: RawPath, entry: SeenEntry, always: boolean): void {
    if (always || (entry.type === FileType.FILE && entry.size > 0))
      deps.onChange({ kind: "write", path, type: entry.type });
  }

  async function enterLate(folder: WatchedFolder, name: string): Promise<void> {
    let fd: number | undefined;
    try {
      fd = openWatched(deps.root, folder);
      await enter(folder, fd, name, (path, entry) => {
        deps.onChange({ kind: "create", path, type: entry.type });
        tellContent(path, entry, false);
      });
    } catch (error) {
      const failure = toFileError(error);
      if (failure.code === "file/watch-limit") deps.onGap(failure.message);
      else if (failure.code !== "file/not-found") throw failure;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  const top = start(deps.root, { parent: undefined, name: "" });
  try {
    await fill(top, deps.root, undefined);
  } catch (error) {
    forget(top);
    throw error;
  }

  return {
    top,
    get entries() {
      return entries;
    },
    async look(folders) {
      let pending = [...folders];
      for (let round = 0; round < roundsMax && pending.length > 0; round += 1) {
        const moves = createMoves<WatchedFolder>();
        const failed: WatchedFolder[] = [];
        for (const folder of pending) {
          if (folder.isClosed) continue;
          try {
            await lookAt(folder, moves);
          } catch (error) {
            const failure = toFileError(error);
            if (failure.code === "file/watch-limit") deps.onGap(failure.message);
            else failed.push(folder);
          }
        }
        await tell(moves);
        pending = failed;
      }
    },
    *all() {
      const pending = [top];
      for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
        yield folder;
        pending.push(...folder.folders.values());
      }
    },
    close: () => forget(top),
  };
}
