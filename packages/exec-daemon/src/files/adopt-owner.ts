/** What root makes for agents belongs to whom the folder belongs that it is made in; nobody else may give away. */
import { lchownSync, statSync } from "node:fs";
import { within } from "./descriptor.ts";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export function adoptOwner(folder: number, name: string, owner?: Owner): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = owner ?? statSync(within(folder, "."));
  if (uid !== 0 || gid !== 0) lchownSync(within(folder, name), uid, gid);
}
