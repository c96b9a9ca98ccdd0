/**
 * Two hosts on one store: both were restored from it, so both may follow its owner, and both do at the same moment.
 * Exactly one becomes the owner, each time; every tenth race is for a store that nobody has claimed yet.
 */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { snapshotInto } from "../../../packages/store/src/snapshots/door.ts";

export async function raceOwners({ target, folder, races, findings }) {
  const shared = [await target.open("raced"), await target.open("raced")];
  let epoch = 0;
  let won = 0;
  const wins = [0, 0];
  for (let race = 0; race < races; race += 1) {
    const isFresh = race % 10 === 0;
    const stores = isFresh
      ? [await target.open(`fresh-${race}`), await target.open(`fresh-${race}`)]
      : shared;
    if (!isFresh && epoch === 0) epoch = await firstOwner(shared[0], folder);
    const outcomes = await Promise.allSettled(
      stores.map((store, index) =>
        claim(store, makeHeir(folder, `${race}-${index}`, store, isFresh ? 0 : epoch)),
      ),
    );
    const winners = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
    findings.expect(winners.length === 1, `race ${race} has ${winners.length} owners`);
    for (const { reason } of outcomes.filter(({ status }) => status === "rejected")) {
      findings.expect(
        reason.code === "box-store/owned-by-other",
        `race ${race}: a loser met ${reason.code}: ${reason.message}`,
      );
    }
    for (const index of winners) wins[index] += 1;
    won += winners.length;
    if (!isFresh) epoch += 1;
    if (isFresh) for (const store of stores) await store.close();
  }
  for (const store of shared) await store.close();
  return { races, owners: won, "won by the first": wins[0], "won by the second": wins[1] };
}

/**
 * The control: over a store that overwrites whatever the condition says, the same races must be seen to have two owners.
 * A host would refuse that store; here its protocol is made believe.
 */
export async function raceBlindly({ target, folder, races, findings }) {
  const blind = await Promise.all([target.open("blind"), target.open("blind")]);
  const stores = blind.map((store) => ({
    ...store,
    create: (key, bytes) => store.put(key, bytes).then(() => ({ kind: "created" })),
    replace: ({ key, bytes }) => store.put(key, bytes).then(() => ({ kind: "replaced" })),
  }));
  let doubled = 0;
  for (let race = 0; race < races && doubled === 0; race += 1) {
    await stores[0].remove("head.json");
    const outcomes = await Promise.allSettled(
      stores.map((store, index) =>
        claim(store, believe(makeHeir(folder, `blind-${race}-${index}`, store, 0), store)),
      ),
    );
    if (outcomes.filter(({ status }) => status === "fulfilled").length > 1) doubled += 1;
  }
  for (const store of blind) await store.close();
  findings.expect(doubled > 0, "races over a store without conditions look right too: the proof is blind");
}

function believe(root, store) {
  const name = createHash("sha256").update(store.address).digest("hex").slice(0, 16);
  const probed = { kind: "cas", style: "plain", atMs: Date.now() };
  writeFileSync(join(root, "box-store", `${name}.json`), JSON.stringify({ writeIds: [], probed }));
  return root;
}

function claim(store, root) {
  return snapshotInto({ root, store, retention: { newest: 2, days: 0 }, takeOver: false, nowMs: Date.now });
}

async function firstOwner(store, folder) {
  await claim(store, makeHeir(folder, "first", store, 0));
  return 1;
}

/** A root as a restore leaves it; what the store does with conditions is known already, so that the race is a close one. */
function makeHeir(folder, name, store, epoch) {
  const root = join(folder, `heir-${name}`);
  // The same in all of them, as in copies: what is raced for is the claim.
  mkdirSync(join(root, "agents", "ada"), { recursive: true });
  writeFileSync(join(root, "agents", "ada", "profile.json"), "{}");
  mkdirSync(join(root, "box-store"));
  const from = { store: store.address, snapshotId: "1-00000000", epoch };
  const hydration = epoch === 0 ? { state: "none" } : { state: "complete", from };
  writeFileSync(
    join(root, "box-store", "state.json"),
    JSON.stringify({ ownerId: `owner-${name}`, hydration }),
  );
  return root;
}
