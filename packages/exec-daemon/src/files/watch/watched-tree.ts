/**
 * A tree of folders whose changes are found by looking: the kernel says where something may have happened, and what is
 * there now is compared with what was remembered. So nothing depends on every notice being understood.
 *
 * 1. A folder's notifier is started before the folder is read: what changes meanwhile is noticed.
 * 2. Only folders are watched, one notifier each; links are entries and never entered.
 * 3. Where notices may have been lost everything is looked at again, and that is said.
 */
import { closeSync, readdirSync } from "node:fs";
import { FileType } from "@sand/protocol/exec";
import { within } from "../descriptor.ts";
import { toFileError } from "../file-errors.ts";
import { joinRaw, type RawPath } from "../raw-path.ts";
import { createMoves, type Moves, type SettledMoves } from "./pair-moves.ts";
import { isSameEntry, judgeEntry, type SeenEntry } from "./seen-entry.ts";
import type { TreeChange } from "./tree-change.ts";
import { createTreeReader, type TreeReaderDeps } from "./tree-reader.ts";
import { lookAtEntry, openWatched, pathOf, type WatchedFolder } from "./watched-folder.ts";

export interface WatchedTreeDeps extends TreeReaderDeps {
  /** an `O_PATH` descriptor of the watched folder, which stays the caller's */
  readonly root: number;
  readonly onChange: (change: TreeChange) => void;
  /** why something may have gone unseen */
  readonly onGap: (reason: string) => void;
}

export interface WatchedTree {
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
  const { root, onChange, onGap } = deps;
  const reader = createTreeReader(deps);

  async function lookAt(folder: WatchedFolder, moves: Moves<WatchedFolder>): Promise<void> {
    const fd = openWatched(root, folder);
    try {
      const names = folder.isUnsure
        ? new Set([...readdirSync(within(fd, "."), { encoding: "latin1" }), ...folder.entries.keys()])
        : new Set(folder.dirty);
      folder.isUnsure = false;
      folder.dirty.clear();
      for (const name of names) {
        await reader.takeTurn();
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
    const at = { folder, name, path: joinRaw(pathOf(folder), name) };
    if (after === undefined) reader.drop(folder, name);
    else reader.remember(folder, name, after);
    if (before !== undefined && (verdict === "removed" || verdict === "replaced"))
      moves.left({ ...at, entry: before });
    if (after === undefined || verdict === undefined) return;
    const { type } = after;
    if (verdict === "created" || verdict === "replaced") moves.came({ ...at, entry: after });
    if (verdict === "mode-changed") onChange({ kind: "chmod", path: at.path, type });
    if (verdict !== "written" || before === undefined) return;
    if (isSameEntry(before, after)) {
      onChange({ kind: "write", path: at.path, type });
      return;
    }
    // Another file was given this name, and the one before may have got another.
    moves.left({ ...at, entry: before, over: true });
    moves.came({ ...at, entry: after, over: true });
  }

  async function tell({ renamed, removed, created }: SettledMoves<WatchedFolder>): Promise<void> {
    for (const { from, to } of renamed) {
      moveBelow(from, to);
      onChange({ kind: "rename", path: to.path, oldPath: from.path, type: to.entry.type });
      if (to.over === true) tellContent(to.path, to.entry, true);
    }
    for (const { folder, name, path, entry } of removed) {
      dropBelow(folder, name);
      onChange({ kind: "remove", path, type: entry.type });
    }
    for (const { folder, name, path, entry, over } of created) {
      if (over !== true) onChange({ kind: "create", path, type: entry.type });
      tellContent(path, entry, over === true);
      if (deps.recursive && entry.type === FileType.DIRECTORY) await enterLate(folder, name);
    }
  }

  /** A new file that holds something was written as well. */
  function tellContent(path: RawPath, entry: SeenEntry, always: boolean): void {
    if (always || (entry.type === FileType.FILE && entry.size > 0))
      onChange({ kind: "write", path, type: entry.type });
  }

  function dropBelow(parent: WatchedFolder, name: string): void {
    const inner = parent.folders.get(name);
    if (inner === undefined) return;
    // All that was in it is told as removed, the innermost first.
    for (const below of inner.folders.keys()) dropBelow(inner, below);
    const path = pathOf(inner);
    for (const [entryName, { type }] of inner.entries)
      onChange({ kind: "remove", path: joinRaw(path, entryName), type });
    parent.folders.delete(name);
    reader.forget(inner);
  }

  async function enterLate(folder: WatchedFolder, name: string): Promise<void> {
    let fd: number | undefined;
    try {
      fd = openWatched(root, folder);
      await reader.enter(folder, fd, name, (path, entry) => {
        onChange({ kind: "create", path, type: entry.type });
        tellContent(path, entry, false);
      });
    } catch (error) {
      const failure = toFileError(error);
      if (failure.code === "file/watch-limit") onGap(failure.message);
      else if (failure.code !== "file/not-found") throw failure;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  /** Those that can't be found by their names now. */
  async function lookOnce(folders: readonly WatchedFolder[]): Promise<WatchedFolder[]> {
    const moves = createMoves<WatchedFolder>();
    const failed: WatchedFolder[] = [];
    for (const folder of folders) {
      if (folder.isClosed) continue;
      try {
        await lookAt(folder, moves);
      } catch (error) {
        const failure = toFileError(error);
        if (failure.code === "file/watch-limit") onGap(failure.message);
        else failed.push(folder);
      }
    }
    await tell(moves.settle());
    return failed;
  }

  const top = await reader.readTop(root);
  return {
    get entries() {
      return reader.entries;
    },
    async look(folders) {
      let pending = [...folders];
      for (let round = 0; round < roundsMax && pending.length > 0; round += 1)
        pending = await lookOnce(pending);
    },
    *all() {
      const pending = [top];
      for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
        yield folder;
        pending.push(...folder.folders.values());
      }
    },
    close: () => reader.forget(top),
  };
}

interface MovedFolder {
  readonly folder: WatchedFolder;
  readonly name: string;
}

/** What is watched below goes along: its notifiers are of the folders, not of their names. */
function moveBelow(from: MovedFolder, to: MovedFolder): void {
  const inner = from.folder.folders.get(from.name);
  from.folder.folders.delete(from.name);
  if (inner === undefined) return;
  inner.parent = to.folder;
  inner.name = to.name;
  to.folder.folders.set(to.name, inner);
}
