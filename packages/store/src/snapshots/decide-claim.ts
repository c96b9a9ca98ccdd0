/** Who may write to a store. Decided from what its head says, and written by compare-and-set, so one claim wins. */
import type { Hydration } from "./root-state.ts";

export interface HeadOwner {
  readonly epoch: number;
  /** nobody's after it was cleared */
  readonly ownerId: string | null;
  readonly writeId: string;
}

export interface Claimant {
  readonly ownerId: string;
  readonly hydration: Hydration;
  /** the store's address, to be compared with the one that this root was restored from */
  readonly store: string;
  readonly writeIds: readonly string[];
  /** a person said so */
  readonly takeOver: boolean;
}

export type ClaimDecision =
  /** the head is written under this epoch first */
  | { readonly kind: "claim"; readonly epoch: number }
  | { readonly kind: "ours"; readonly epoch: number }
  | { readonly kind: "refused"; readonly why: "other-owner" | "copy-of-this-root" };

export function decideClaim(head: HeadOwner | undefined, claimant: Claimant): ClaimDecision {
  if (head === undefined) return { kind: "claim", epoch: 1 };
  const next = { kind: "claim", epoch: head.epoch + 1 } as const;
  if (head.ownerId === null || claimant.takeOver) return next;
  if (head.ownerId === claimant.ownerId) {
    // A mark that we know is our own last write, or the one before that a crash kept us from noting.
    const isOurs = claimant.writeIds.includes(head.writeId);
    return isOurs ? { kind: "ours", epoch: head.epoch } : { kind: "refused", why: "copy-of-this-root" };
  }
  const { hydration, store } = claimant;
  const mayFollow = hydration.state === "complete" && hydration.from.store === store;
  return mayFollow && hydration.from.epoch === head.epoch ? next : { kind: "refused", why: "other-owner" };
}
