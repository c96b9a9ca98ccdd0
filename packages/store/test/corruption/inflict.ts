/** The kinds of damage, each from a seed. Says which pages of the agent's database it has hit. */
import { existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Inflicted {
  /** pages of the store that aren't what they were, in the file or in its log */
  readonly pages: ReadonlySet<number>;
  /** pages from here on are gone */
  readonly cutFrom: number;
}

export interface Target {
  readonly root: string;
  readonly store: string;
  readonly random: (below: number) => number;
}

const pageBytes = 4_096;
const frameBytes = pageBytes + 24;
const none: Inflicted = { pages: new Set(), cutFrom: Number.POSITIVE_INFINITY };

export type Kind = keyof typeof kinds;

/** `killed`: the damage needs a log that was left over. */
export const kinds = {
  "flipped bytes": { killed: false, inflict: (target: Target) => flip(target, 1 + target.random(40)) },
  "flipped bytes under a log": {
    killed: true,
    inflict: (target: Target) => flip(target, 1 + target.random(40)),
  },
  "first page destroyed": { killed: false, inflict: (target: Target) => replace(target, [1], "noise") },
  "zeroed pages": { killed: false, inflict: (target: Target) => replace(target, somePages(target), "zero") },
  "torn pages": { killed: false, inflict: (target: Target) => tear(target) },
  "misplaced pages": {
    killed: false,
    inflict: (target: Target) => replace(target, somePages(target), "other"),
  },
  "cut off": { killed: false, inflict: (target: Target) => cut(target) },
  "flipped bytes in the log": { killed: true, inflict: (target: Target) => flipLog(target) },
  "log missing": { killed: true, inflict: (target: Target) => without(target, "-wal") },
  "log cut off": { killed: true, inflict: (target: Target) => cutLog(target) },
  "shared index of noise": {
    killed: true,
    inflict: (target: Target) => noise(`${target.store}-shm`, target),
  },
  "stores exchanged": { killed: false, inflict: (target: Target) => exchange(target) },
  "index damaged": { killed: false, inflict: (target: Target) => damageIndex(target) },
  "index missing": { killed: true, inflict: ({ root }: Target) => removeAll(join(root, "host.db")) },
  "lock of noise": {
    killed: false,
    inflict: (target: Target) => noise(join(target.root, "lock.db"), target),
  },
} as const;

function flip(target: Target, count: number): Inflicted {
  const bytes = readFileSync(target.store);
  const pages = new Set<number>();
  for (let flips = 0; flips < count; flips += 1) {
    const at = target.random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << target.random(8));
    pages.add(Math.floor(at / pageBytes) + 1);
  }
  writeFileSync(target.store, bytes);
  return { ...none, pages };
}

function somePages(target: Target): readonly number[] {
  const count = pageCount(target);
  return Array.from({ length: 1 + target.random(8) }, () => 1 + target.random(count));
}

function pageCount({ store }: Target): number {
  return Math.floor(readFileSync(store).length / pageBytes);
}

function replace(target: Target, pages: readonly number[], by: "zero" | "noise" | "other"): Inflicted {
  const bytes = readFileSync(target.store);
  const before = Buffer.from(bytes);
  for (const page of pages) {
    const place = bytes.subarray((page - 1) * pageBytes, page * pageBytes);
    if (by === "zero") place.fill(0);
    else if (by === "noise") for (let at = 0; at < place.length; at += 1) place[at] = target.random(256);
    else before.copy(place, 0, target.random(bytes.length / pageBytes) * pageBytes);
  }
  writeFileSync(target.store, bytes);
  return { ...none, pages: new Set(pages) };
}

/** The first sectors of a page are of one time, the rest is of another. */
function tear(target: Target): Inflicted {
  const bytes = readFileSync(target.store);
  const before = Buffer.from(bytes);
  const pages = somePages(target);
  for (const page of pages) {
    const from = (page - 1) * pageBytes + 512 * (1 + target.random(7));
    const source = target.random(3) === 0 ? undefined : target.random(bytes.length / pageBytes) * pageBytes;
    if (source === undefined) bytes.fill(0, from, page * pageBytes);
    else before.copy(bytes, from, source + (from % pageBytes), source + pageBytes);
  }
  writeFileSync(target.store, bytes);
  return { ...none, pages: new Set(pages) };
}

function cut(target: Target): Inflicted {
  const bytes = readFileSync(target.store).length;
  const left = Math.floor(bytes * (0.2 + target.random(79) / 100));
  truncateSync(target.store, left);
  return { ...none, cutFrom: Math.floor(left / pageBytes) + 1 };
}

function flipLog(target: Target): Inflicted {
  const path = `${target.store}-wal`;
  const bytes = readFileSync(path);
  const pages = new Set<number>();
  for (let flips = 1 + target.random(6); flips > 0; flips -= 1) {
    const at = target.random(bytes.length);
    const frame = Math.floor((at - 32) / frameBytes);
    if (at >= 32) pages.add(bytes.readUInt32BE(32 + frame * frameBytes));
    bytes[at] = (bytes[at] ?? 0) ^ (1 << target.random(8));
  }
  writeFileSync(path, bytes);
  return { ...none, pages };
}

function without({ store }: Target, part: string): Inflicted {
  rmSync(store + part, { force: true });
  return none;
}

function cutLog({ store, random }: Target): Inflicted {
  truncateSync(`${store}-wal`, random(readFileSync(`${store}-wal`).length));
  return none;
}

function noise(path: string, { random }: Target): Inflicted {
  writeFileSync(path, Buffer.from(Array.from({ length: 4_096 }, () => random(256))));
  return none;
}

function exchange({ root }: Target): Inflicted {
  const [one, other] = [join(root, "agents", "ada", "store.db"), join(root, "agents", "bob", "store.db")];
  renameSync(one, `${one}.x`);
  renameSync(other, one);
  renameSync(`${one}.x`, other);
  return none;
}

function damageIndex(target: Target): Inflicted {
  const store = join(target.root, "host.db");
  if (target.random(4) === 0) writeFileSync(store, "no database");
  else flip({ ...target, store }, 1 + target.random(60));
  return none;
}

function removeAll(path: string): Inflicted {
  for (const part of ["", "-wal", "-shm"]) if (existsSync(path + part)) rmSync(path + part);
  return none;
}
