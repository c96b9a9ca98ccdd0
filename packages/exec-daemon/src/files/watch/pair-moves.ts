/**
 * Finds what was renamed among what has left a name and what has come to one: the same inode of the same birth, seen in
 * one look at the tree. Pure.
 */
import type { RawPath } from "../raw-path.ts";
import { isSameEntry, type SeenEntry } from "./seen-entry.ts";

export interface Moved<Folder> {
  readonly folder: Folder;
  readonly name: string;
  readonly path: RawPath;
  readonly entry: SeenEntry;
  /** another entry has, or had, this very name at the other look: what it holds is written, not removed and made */
  readonly over?: boolean;
}

export interface SettledMoves<Folder> {
  readonly renamed: readonly { readonly from: Moved<Folder>; readonly to: Moved<Folder> }[];
  readonly removed: readonly Moved<Folder>[];
  readonly created: readonly Moved<Folder>[];
}

export interface Moves<Folder> {
  left(moved: Moved<Folder>): void;
  came(moved: Moved<Folder>): void;
  settle(): SettledMoves<Folder>;
}

export function createMoves<Folder>(): Moves<Folder> {
  const left = new Map<number, Moved<Folder>>();
  const unpaired: Moved<Folder>[] = [];
  const came: Moved<Folder>[] = [];
  return {
    left(moved) {
      // A second name of one file: it can be the source of one rename only.
      if (left.has(moved.entry.inode)) unpaired.push(moved);
      else left.set(moved.entry.inode, moved);
    },
    came: (moved) => void came.push(moved),
    settle() {
      const renamed: { from: Moved<Folder>; to: Moved<Folder> }[] = [];
      const created: Moved<Folder>[] = [];
      for (const to of came) {
        const from = left.get(to.entry.inode);
        if (from === undefined || from.path === to.path || !isSameEntry(from.entry, to.entry)) {
          created.push(to);
          continue;
        }
        left.delete(to.entry.inode);
        renamed.push({ from, to });
      }
      const removed = [...left.values(), ...unpaired].filter((moved) => moved.over !== true);
      return { renamed, removed, created };
    },
  };
}
