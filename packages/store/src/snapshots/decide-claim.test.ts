import { expect, test } from "vitest";
import { type Claimant, decideClaim, type HeadOwner } from "./decide-claim.ts";

const claimant: Claimant = {
  ownerId: "me",
  hydration: { state: "none" },
  store: "/store",
  writeIds: ["w1", "w2"],
  takeOver: false,
};
const head: HeadOwner = { epoch: 4, ownerId: "other", writeId: "w9" };
const from = (store: string, epoch: number): Claimant["hydration"] => ({
  state: "complete",
  from: { store, snapshotId: "1-aa", epoch },
});

test.each([
  ["a store without a head is claimed", undefined, {}, { kind: "claim", epoch: 1 }],
  ["one that was given up is claimed", { ownerId: null }, {}, { kind: "claim", epoch: 5 }],
  ["our own is gone on with", { ownerId: "me", writeId: "w1" }, {}, { kind: "ours", epoch: 4 }],
  [
    "our own with a mark that we didn't make is a copy's",
    { ownerId: "me" },
    {},
    { kind: "refused", why: "copy-of-this-root" },
  ],
  ["another's is refused", {}, {}, { kind: "refused", why: "other-owner" }],
  ["a person may take it over", {}, { takeOver: true }, { kind: "claim", epoch: 5 }],
  ["an heir follows", {}, { hydration: from("/store", 4) }, { kind: "claim", epoch: 5 }],
  [
    "an heir of an earlier owner doesn't",
    {},
    { hydration: from("/store", 3) },
    { kind: "refused", why: "other-owner" },
  ],
  [
    "an heir of another store doesn't",
    {},
    { hydration: from("/else", 4) },
    { kind: "refused", why: "other-owner" },
  ],
] as const)("%s", (_rule, headChange, change, decision) => {
  const found = headChange === undefined ? undefined : { ...head, ...headChange };
  expect(decideClaim(found, { ...claimant, ...change })).toEqual(decision);
});
