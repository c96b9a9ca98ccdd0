/**
 * Tries out what a store really does with conditions, before anything is entrusted to it.
 *
 * Some servers know no conditions and say so: they are used with a lease. Some know them in one spelling only. And some
 * take a conditional request and overwrite all the same: two hosts would destroy each other's snapshots there, and a
 * proof by one request is not enough, since some check the condition before the upload and not after. Those are refused.
 */
import { randomBytes } from "node:crypto";
import { BoxError } from "@sand/protocol";
import { type EtagStyle, type ObjectStore, storeKeys } from "./object-store.ts";

/** How the head of a store is written: by compare-and-set, or by the holder of a lease. */
export type StoreProtocol = { readonly kind: "cas"; readonly style: EtagStyle } | { readonly kind: "lease" };

const racers = 6;
/** long enough to be on its way for a while: what is checked only before it arrives shows then */
const racedBytes = 262_144;

export async function probeObjectStore(store: ObjectStore): Promise<StoreProtocol> {
  const base = `${storeKeys.probe}${randomBytes(8).toString("hex")}`;
  const keys = { basic: `${base}-a`, conditional: `${base}-b`, raced: `${base}-c` };
  try {
    await probeReads(store, keys.basic);
    if (!(await probeCreate(store, keys.conditional))) return { kind: "lease" };
    await probeRace(store, keys.raced);
    const style = await probeReplace(store, keys.conditional);
    return style === undefined ? { kind: "lease" } : { kind: "cas", style };
  } finally {
    for (const key of Object.values(keys)) await store.remove(key);
  }
}

/** What was just written is read, whole and in part, and is listed. */
async function probeReads(store: ObjectStore, key: string): Promise<void> {
  await store.put(key, text("first"));
  await store.put(key, text("second"));
  if ((await readText(store, key)) !== "second")
    throw refuse("it answers with something older than what was written");
  const part = await store.get(key, { from: 1, to: 4 });
  if (part === undefined || textOf(part.bytes) !== "eco") throw refuse("it doesn't read parts of objects");
  for await (const listed of store.list(storeKeys.probe)) if (listed.key === key) return;
  throw refuse("it doesn't list what was just written");
}

/** False for a store that says that it knows no such condition. */
async function probeCreate(store: ObjectStore, key: string): Promise<boolean> {
  const first = await store.create(key, text("one"));
  if (first.kind === "unsupported") return false;
  if (first.kind === "exists") throw refuse("it finds objects that nobody wrote");
  const second = await store.create(key, text("two"));
  if (second.kind === "unsupported") return false;
  if (second.kind === "created" || (await readText(store, key)) !== "one") {
    throw refuse("it overwrites objects that must only be created");
  }
  return true;
}

async function probeRace(store: ObjectStore, key: string): Promise<void> {
  const claims = Array.from({ length: racers }, (_, index) => store.create(key, racedBody(index)));
  const outcomes = await Promise.all(claims);
  const winners = outcomes.flatMap((outcome, index) => (outcome.kind === "created" ? [index] : []));
  if (winners.length !== 1 || (await readText(store, key)) !== textOf(racedBody(winners[0] ?? 0))) {
    throw refuse("of several that create one object at once not exactly one succeeds");
  }
}

function racedBody(index: number): Uint8Array {
  return text(`racer ${index} `.repeat(Math.ceil(racedBytes / 8)));
}

/** The spelling that the store understands, or nothing when it understands neither. */
async function probeReplace(store: ObjectStore, key: string): Promise<EtagStyle | undefined> {
  const first = await store.get(key);
  if (first === undefined) throw refuse("it loses objects");
  for (const style of ["quoted", "plain"] as const) {
    const { etag } = first;
    const outcome = await store.replace({ key, bytes: text("three"), etag, style });
    if (outcome.kind !== "replaced") continue;
    if ((await readText(store, key)) !== "three") throw refuse("it reports a write that it didn't make");
    const stale = await store.replace({ key, bytes: text("four"), etag, style });
    if (stale.kind === "replaced" || (await readText(store, key)) !== "three") {
      throw refuse("it overwrites versions that have changed");
    }
    return style;
  }
  return undefined;
}

function text(value: string): Uint8Array {
  return Buffer.from(value, "utf8");
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

async function readText(store: ObjectStore, key: string): Promise<string | undefined> {
  const found = await store.get(key);
  return found === undefined ? undefined : textOf(found.bytes);
}

function refuse(what: string): BoxError {
  return new BoxError("box-store/refused", `this store can't keep snapshots: ${what}`, {
    hint: "two hosts could destroy each other's snapshots there; use storage with working conditional writes, or a directory",
  });
}
