/**
 * Keeps an agent's blobs in order: a root over all that its rows name, and nothing that nobody names.
 *
 * 1. The root's blobs are durable before the store names the root.
 * 2. A blob goes only when no row, no event, no root and no change under way names it. Who decides is the host's thread,
 *    which has the store; what was put after the listing is left alone by the thread that removes (`answer-calls.ts`).
 * 3. What a row keeps for good isn't looked at again, so a collection costs what is new.
 */
import type { BlobCallKind, BlobCalls, RootNodes } from "./blob-calls.ts";
import { readRoot, rootPageSize } from "./checkpoint-root.ts";
import type { PayloadRefs } from "./payload-refs.ts";

/** names that are looked at together */
const listMax = 500;

/** the last root as the store knows it */
export interface StoredRoot {
  readonly blob: string;
  /** how many payloads it covers, in the order of their first naming */
  readonly payloads: number;
}

export interface CollectDeps {
  ask<Kind extends BlobCallKind>(kind: Kind, ask: BlobCalls[Kind]["ask"]): Promise<BlobCalls[Kind]["answer"]>;
  refs(): PayloadRefs;
  isPinned(id: string): boolean;
  storedRoot(): StoredRoot | null;
  /** commits the name of a new root, and forgets what only trimmed events named */
  commitRoot(root: StoredRoot | null): Promise<void>;
}

/** Brings the root up to date. `null` when no row names a payload. */
export async function checkpointPayloads(deps: CollectDeps): Promise<RootNodes | null> {
  const payloads = deps.refs().count();
  const last = deps.storedRoot();
  if (payloads === 0) {
    await deps.commitRoot(null);
    return null;
  }
  if (last?.payloads === payloads) {
    await deps.commitRoot(null);
    const found = await nodesOf(deps, last);
    if (found !== null) return found;
  }
  const nodes = await makeRoot(deps, last);
  await deps.commitRoot({ blob: nodes.root, payloads: nodes.payloads });
  return nodes.nodes;
}

interface MadeRoot {
  readonly root: string;
  readonly payloads: number;
  readonly nodes: RootNodes;
}

async function makeRoot(deps: CollectDeps, last: StoredRoot | null): Promise<MadeRoot> {
  const skipped = Math.floor((last?.payloads ?? 0) / rootPageSize) * rootPageSize;
  for (const from of skipped === 0 ? [0] : [skipped, 0]) {
    const names = deps.refs().names(from);
    const previous = from === 0 ? null : (last?.blob ?? null);
    const answer = await deps.ask("checkpoint", { previous, skipped: from, payloads: names });
    if (answer.kind === "stored") {
      return { root: answer.root.root, payloads: from + names.length, nodes: answer.root };
    }
  }
  throw new Error("a root that is made from nothing needs nothing to read");
}

/** The blobs of a root that is there; `null` when it can't be read, and is to be made anew. */
async function nodesOf(deps: CollectDeps, { blob, payloads }: StoredRoot): Promise<RootNodes | null> {
  try {
    const [data = new Uint8Array()] = await deps.ask("get", { ids: [blob] });
    const { pages } = readRoot(data);
    const full = Math.floor(payloads / rootPageSize);
    return { root: blob, fullPages: pages.slice(0, full), lastPage: pages[full] ?? null };
  } catch {
    // Lost or damaged: the store has all that it was made from.
    return null;
  }
}

/** Removes what nobody names. Returns how many blobs went. */
export async function collectBlobs(deps: CollectDeps, root: RootNodes | null): Promise<number> {
  const fullPages = new Set(root?.fullPages);
  let after: number | null = null;
  let settledThrough = 0;
  let isSettledSoFar = true;
  let dropped = 0;

  const judge = (refs: PayloadRefs, id: string): "for good" | "for now" | "not" => {
    if (refs.isKept(id) || fullPages.has(id)) return "for good";
    if (deps.isPinned(id) || refs.isInEvents(id) || id === root?.root || id === root?.lastPage)
      return "for now";
    return "not";
  };

  for (;;) {
    const listed: BlobCalls["list"]["answer"] = await deps.ask("list", { after, limit: listMax });
    const last = listed.blobs.at(-1);
    if (last === undefined) return dropped;
    // From here to the asking nothing is awaited: the decision and the order go together.
    const refs = deps.refs();
    const judged = listed.blobs.map(({ at, id }) => ({ at, id, needed: judge(refs, id) }));
    const settledBefore = settledThrough;
    for (const { at, needed } of judged) {
      isSettledSoFar &&= needed !== "for now";
      if (isSettledSoFar) settledThrough = at;
    }
    const ids = judged.filter(({ needed }) => needed === "not").map(({ id }) => id);
    if (ids.length > 0 || settledThrough > settledBefore) {
      dropped += (await deps.ask("drop", { epoch: listed.epoch, ids, settledThrough })).dropped;
    }
    after = last.at;
  }
}
