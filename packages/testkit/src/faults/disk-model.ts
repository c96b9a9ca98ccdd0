/**
 * What a disk may hold after a power cut: all that was synced, and of the rest any part.
 *
 * 1. A file's content is durable up to its last sync. Of later writes any subset may be there, torn at 512 bytes.
 * 2. A name is durable when its folder was synced after it was made, moved or removed. Syncing a file says nothing of
 *    its name. Names that aren't durable arrive in order: journaling file systems keep that, and no file system more.
 * 3. After a sync that failed, the kernel may hold what never reached the disk as written: no later sync brings it there.
 *    Which of it had reached the disk is drawn once.
 * 4. A file whose folder isn't there isn't there either.
 */
import { dirname } from "node:path";
import type { SeededRandom } from "../seeded-random.ts";
import type { DiskOp } from "./disk-record.ts";

/** a disk tears a write between sectors, in bytes */
const sectorBytes = 512;

interface ChangeAt {
  readonly serial: number;
  readonly atMs: number;
}

type Change =
  | (ChangeAt & { readonly kind: "write"; readonly place: number; readonly bytes: Buffer })
  | (ChangeAt & { readonly kind: "cut"; readonly size: number });

interface Node {
  readonly id: number;
  readonly isFolder: boolean;
  content: Buffer;
  /** when the file was changed last, as far as `content` goes */
  atMs: number;
  /** the last change in `content` */
  serial: number;
  pending: Change[];
}

interface NameChange {
  readonly folders: readonly number[];
  apply(names: Map<string, Node>): void;
  isDurable: boolean;
}

/** one file of a possible state; `key` stands for its content */
export interface StateFile {
  readonly key: string;
  /** the file's time of change */
  readonly atMs: number;
  content(): Buffer;
}

/** path below the root → file */
export type DiskState = ReadonlyMap<string, StateFile>;

/** how much of what wasn't synced is there */
export type Survival = "nothing" | "everything" | "some" | "torn";

export interface DiskModel {
  apply(op: DiskOp): void;
  /** a state that the disk may be in now; `survival` is of the files' contents */
  pick(survival: Survival, random: SeededRandom): DiskState;
  /** changes that aren't durable yet */
  pendingCount(): number;
}

export function createDiskModel(root: string, rootInode: number, luck: SeededRandom): DiskModel {
  const rootNode: Node = { id: 0, isFolder: true, content: Buffer.alloc(0), atMs: 0, serial: 0, pending: [] };
  const byInode = new Map<number, Node>([[rootInode, rootNode]]);
  const current = new Map<string, Node>([[root, rootNode]]);
  const durable = new Map<string, Node>([[root, rootNode]]);
  const dirty = new Set<Node>();
  let names: NameChange[] = [];
  let serial = 0;

  function changeNames(paths: readonly string[], apply: NameChange["apply"]): void {
    const folders = paths.flatMap((path) => current.get(dirname(path))?.id ?? []);
    apply(current);
    names.push({ folders, apply, isDurable: false });
  }

  function make(op: Extract<DiskOp, { kind: "made" }>): void {
    serial += 1;
    const isFolder = op.what === "folder";
    const content = Buffer.alloc(0);
    const node: Node = { id: serial, isFolder, content, atMs: op.atMs, serial, pending: [] };
    byInode.set(op.inode, node);
    changeNames([op.path], (map) => map.set(op.path, node));
  }

  function change(inode: number, toChange: (serial: number) => Change): void {
    const node = byInode.get(inode);
    if (node === undefined) return;
    serial += 1;
    node.pending.push(toChange(serial));
    dirty.add(node);
  }

  function sync(inode: number): void {
    const node = byInode.get(inode);
    if (node === undefined) return;
    if (node.isFolder) names = settleNames(names, node.id, durable);
    else {
      node.content = contentOf(node, node.pending);
      node.serial = node.pending.at(-1)?.serial ?? node.serial;
      node.atMs = node.pending.at(-1)?.atMs ?? node.atMs;
      node.pending = [];
      dirty.delete(node);
    }
  }

  function failSync(inode: number): void {
    const node = byInode.get(inode);
    if (node === undefined || node.isFolder) return;
    node.content = contentOf(
      node,
      node.pending.filter((change) => change.kind === "cut" || luck.chance(0.5)),
    );
    node.serial = node.pending.at(-1)?.serial ?? node.serial;
    node.pending = [];
    dirty.delete(node);
  }

  return {
    apply(op) {
      switch (op.kind) {
        case "made":
          return make(op);
        case "written":
          return change(op.inode, (serial) => ({
            kind: "write",
            serial,
            atMs: op.atMs,
            place: op.place,
            bytes: op.bytes,
          }));
        case "cut":
          return change(op.inode, (serial) => ({ kind: "cut", serial, atMs: op.atMs, size: op.size }));
        case "synced":
          return sync(op.inode);
        case "sync failed":
          return failSync(op.inode);
        case "renamed":
          return changeNames([op.from, op.to], (map) => move(map, op.from, op.to));
        case "removed":
          return changeNames([op.path], (map) => map.delete(op.path));
        case "sent":
          return;
      }
    },
    pick(survival, random) {
      const found = new Map(durable);
      const arrived = namesArrived(survival, names.length, random);
      names.forEach((change, at) => {
        if (change.isDurable || at < arrived) change.apply(found);
      });
      const state = new Map<string, StateFile>();
      for (const [path, node] of found) {
        if (node.isFolder || !isReachable(found, root, path)) continue;
        state.set(path.slice(root.length + 1), pickFile(node, survival, random));
      }
      return state;
    },
    pendingCount: () => names.length + [...dirty].reduce((sum, node) => sum + node.pending.length, 0),
  };
}

function namesArrived(survival: Survival, count: number, random: SeededRandom): number {
  switch (survival) {
    case "nothing":
      return 0;
    case "everything":
      return count;
    case "some":
    case "torn":
      return random.whole(0, count);
  }
}

/** A folder's sync makes its changes durable, and with each one those before it in the same folders. */
function settleNames(names: NameChange[], folder: number, durable: Map<string, Node>): NameChange[] {
  const folders = new Set([folder]);
  for (const change of names.toReversed()) {
    if (!change.folders.some((id) => folders.has(id))) continue;
    change.isDurable = true;
    for (const id of change.folders) folders.add(id);
  }
  const firstOpen = names.findIndex((change) => !change.isDurable);
  const settled = firstOpen === -1 ? names.length : firstOpen;
  for (const change of names.slice(0, settled)) change.apply(durable);
  return names.slice(settled);
}

function move(map: Map<string, Node>, from: string, to: string): void {
  for (const [path, node] of [...map]) {
    if (path !== from && !path.startsWith(`${from}/`)) continue;
    map.delete(path);
    map.set(to + path.slice(from.length), node);
  }
}

function isReachable(map: ReadonlyMap<string, Node>, root: string, path: string): boolean {
  for (let at = dirname(path); at.length >= root.length; at = dirname(at)) {
    if (map.get(at)?.isFolder !== true) return false;
  }
  return true;
}

function pickFile(node: Node, survival: Survival, random: SeededRandom): StateFile {
  const { pending, serial, id } = node;
  const kept = pending.length === 0 ? [] : pickChanges(pending, survival, random);
  const parts = kept.map(
    ({ change, sectors }) => `${change.serial}${sectors === undefined ? "" : `/${sectors}`}`,
  );
  const base = node.content;
  return {
    key: `${id}.${serial}+${parts.join(",")}`,
    atMs: kept.at(-1)?.change.atMs ?? node.atMs,
    content: () => contentOf({ content: base }, kept.flatMap(tear)),
  };
}

interface Kept {
  readonly change: Change;
  /** the sectors that arrived, as a string of 0 and 1; all when absent */
  readonly sectors?: string;
}

function pickChanges(pending: readonly Change[], survival: Survival, random: SeededRandom): readonly Kept[] {
  switch (survival) {
    case "nothing":
      return [];
    case "everything":
      return pending.map((change) => ({ change }));
    case "some":
      return pending.filter(() => random.chance(0.5)).map((change) => ({ change }));
    case "torn": {
      const share = random.pick([0.3, 0.7, 0.95]);
      return pending
        .filter(() => random.chance(share))
        .map((change) => (random.chance(0.5) ? { change } : tornIn(change, random)));
    }
  }
}

function tornIn(change: Change, random: SeededRandom): Kept {
  if (change.kind === "cut") return { change };
  const count = sectorSpans(change.place, change.bytes.length).length;
  const isPrefix = random.chance(0.5);
  const length = random.whole(0, count);
  const sectors = Array.from({ length: count }, (_, at) => (isPrefix ? at < length : random.chance(0.5)));
  return { change, sectors: sectors.map(Number).join("") };
}

function tear({ change, sectors }: Kept): readonly Change[] {
  if (sectors === undefined || change.kind === "cut") return [change];
  return sectorSpans(change.place, change.bytes.length)
    .filter((_, at) => sectors[at] === "1")
    .map(({ from, to }) => ({
      ...change,
      place: change.place + from,
      bytes: change.bytes.subarray(from, to),
    }));
}

function sectorSpans(
  place: number,
  length: number,
): readonly { readonly from: number; readonly to: number }[] {
  const spans: { from: number; to: number }[] = [];
  for (let from = 0; from < length; ) {
    const to = Math.min(length, from + sectorBytes - ((place + from) % sectorBytes));
    spans.push({ from, to });
    from = to;
  }
  return spans;
}

/** What isn't written between two writes is zeros, as in a file with a hole. */
function contentOf({ content }: Pick<Node, "content">, changes: readonly Change[]): Buffer {
  let [size, room] = [content.length, content.length];
  for (const change of changes) {
    size = change.kind === "cut" ? change.size : Math.max(size, change.place + change.bytes.length);
    room = Math.max(room, size);
  }
  const bytes = Buffer.alloc(room);
  content.copy(bytes);
  let end = content.length;
  for (const change of changes) {
    if (change.kind === "write") {
      change.bytes.copy(bytes, change.place);
      end = Math.max(end, change.place + change.bytes.length);
    } else {
      if (change.size < end) bytes.fill(0, change.size, end);
      end = change.size;
    }
  }
  return bytes.subarray(0, size);
}
