/** A catalog over compare-and-set: every write replaces exactly the head that was read, or nothing. */
import { BoxError, invariant } from "@sand/protocol";
import { type Claimant, decideClaim } from "./decide-claim.ts";
import { snapshotLimits } from "./limits.ts";
import { type EtagStyle, storeKeys } from "./object-store.ts";
import type { CatalogDeps, OwnedCatalog } from "./owned-catalog.ts";
import type { SnapshotRow } from "./snapshot-manifest.ts";
import { encodeHead, readHead, type StoreHead } from "./store-head.ts";

type Seen = { readonly head: StoreHead; readonly etag: string } | undefined;

export async function createCasCatalog(
  deps: CatalogDeps,
  style: EtagStyle,
  claimant: Claimant,
): Promise<OwnedCatalog> {
  const { store } = deps;

  /** Writes over what was seen; returns what is there afterwards, and whether that is ours. */
  async function swap(
    seen: Seen,
    next: Omit<StoreHead, "writeId">,
  ): Promise<{ readonly won: boolean; readonly now: Seen }> {
    const writeId = deps.newId();
    deps.noteWrite(writeId, seen?.head.writeId);
    const bytes = encodeHead({ ...next, writeId });
    const outcome =
      seen === undefined
        ? await store.create(storeKeys.head, bytes)
        : await store.replace({ key: storeKeys.head, bytes, etag: seen.etag, style });
    if (outcome.kind === "unsupported") {
      throw new BoxError("box-store/refused", "the store no longer knows conditional writes");
    }
    // Read in any case: for its version, and because a write that was made may have been answered with a failure.
    const now = await readHead(store);
    return { won: now?.head.writeId === writeId, now };
  }

  let current = await claim();

  async function claim(): Promise<NonNullable<Seen>> {
    let seen: Seen = await readHead(store);
    for (let tries = 0; tries < snapshotLimits.headTriesMax; tries += 1) {
      const decision = decideClaim(seen?.head, claimant);
      if (decision.kind === "refused") throw refused(decision.why, seen?.head);
      if (decision.kind === "ours") {
        invariant(seen !== undefined, "a head that is ours was read");
        return seen;
      }
      const { won, now } = await swap(seen, {
        epoch: decision.epoch,
        ownerId: claimant.ownerId,
        claimedAtMs: deps.nowMs(),
        snapshots: seen?.head.snapshots ?? [],
      });
      if (won && now !== undefined) return now;
      // Somebody was faster. What a person allowed was meant for the owner before, not for this one.
      if (now !== undefined && now.head.epoch >= decision.epoch) throw refused("other-owner", now.head);
      seen = now;
    }
    throw new BoxError("box-store/busy", "others keep changing the head of the box store");
  }

  async function replaceOwn(change: Partial<StoreHead>): Promise<void> {
    const { won, now } = await swap(current, { ...current.head, ...change });
    if (!won || now === undefined) throw refused("other-owner", now?.head);
    current = now;
  }

  return {
    get epoch() {
      return current.head.epoch;
    },
    get snapshots() {
      return current.head.snapshots;
    },
    write: (snapshots: readonly SnapshotRow[]) => replaceOwn({ snapshots }),
    async confirm() {
      const now = await readHead(store);
      if (now?.head.writeId !== current.head.writeId) throw refused("other-owner", now?.head);
    },
    release: () => replaceOwn({ ownerId: null }),
  };
}

function refused(why: "other-owner" | "copy-of-this-root", head: StoreHead | undefined): BoxError {
  const since = head === undefined ? "" : ` since ${new Date(head.claimedAtMs).toISOString()}`;
  const message =
    why === "other-owner"
      ? `another host writes to this box store${since}`
      : "a copy of this data root writes to the same box store";
  return new BoxError("box-store/owned-by-other", message, {
    hint: "give each data root a store of its own; `sand backup --take-over` takes this one away from the other",
    ...(head === undefined ? {} : { details: { epoch: head.epoch } }),
  });
}
