/**
 * The box store, against a directory and against a real S3 server (Ceph's, from Debian's packages).
 *
 * A host takes prompts while snapshots of it are taken, some of them killed at random. Each snapshot holds what was
 * acknowledged before it was asked for; the last one restores to the same bytes; a host starts on it and tells the same
 * conversations. Restores are killed at random as well: what is missing then never deletes anything. And of two hosts
 * that claim one store at once exactly one owns it.
 */
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  callOrFail,
  createSeededRandom,
  createTempFolder,
  fieldOf,
  textOf,
} from "../../packages/testkit/src/index.ts";
import * as kit from "../../packages/testkit/src/proofs/door.ts";
import { collectFindings } from "../../packages/testkit/src/proofs/proof-result.ts";
import { differences, fingerprint, readStores } from "./box-store/compare-roots.mjs";
import { askForSnapshot, killRole, startLoad } from "./box-store/load-host.mjs";
import { raceBlindly, raceOwners } from "./box-store/race-owners.mjs";
import { runRole } from "./box-store/run-role.mjs";
import { openTarget } from "./box-store/targets.mjs";

const agentCount = 4;
const attachmentBytes = 64 * 1_048_576;

export async function proveBoxStore(kind, { bundles, seed, scale = 1, report }) {
  await using folder = await createTempFolder("prove-box-store");
  await using target = await openTarget(kind, folder.path);
  const findings = collectFindings();
  const count = (whole) => Math.max(2, Math.round(whole * scale));
  const scene = { folder: folder.path, target, bundles, findings, report, random: createSeededRandom(seed) };
  const races = await raceOwners({ target, folder: folder.path, races: count(500), findings });
  await raceBlindly({ target, folder: folder.path, races: 60, findings });
  report(`${races.owners} owners in ${races.races} races`);
  const underLoad = await snapshotUnderLoad(scene, { snapshots: count(20), kills: count(60) });
  const restores = await interruptRestores(scene, underLoad.root, count(60));
  return { figures: { ...races, ...underLoad.figures, ...restores }, findings: findings.list };
}

async function snapshotUnderLoad(scene, { snapshots, kills }) {
  const { target, bundles, findings, random, folder, report } = scene;
  await using world = await kit.createWorld({ label: "box-store", bundles, sandbox: "off" });
  await world.startDaemon();
  const env = { ...target.env("main"), SAND_BOX_STORE_EVERY_MINUTES: "0", SAND_BOX_STORE_KEEP: "5" };
  const { access, process: host } = await world.startHost({ env });
  const agents = [];
  for (let index = 0; index < agentCount; index += 1) {
    const made = await callOrFail(access, "createAgent", { name: `agent ${index}`, description: "" });
    agents.push(textOf(fieldOf(fieldOf(made, "agent"), "id")));
  }
  const load = startLoad(access, agents);
  let killed = 0;
  let whole = 0;
  for (let round = 0; round < snapshots + kills; round += 1) {
    const acknowledged = [...load.acknowledged];
    const isKilled = round % Math.round(1 + kills / snapshots) !== 0;
    const asked = askForSnapshot(access);
    if (isKilled) killed += await killRole(world.folder, random);
    const reply = await asked;
    if (reply.kind !== "answered" || reply.status !== 200) {
      findings.expect(isKilled, `a snapshot that nobody killed failed: ${JSON.stringify(reply)}`);
      continue;
    }
    whole += 1;
    if (whole % 4 === 1) await checkSnapshot(scene, fieldOf(reply.body, "snapshotId"), acknowledged, round);
  }
  await copyBlindly(scene, world.dataRoot, load.acknowledged);
  const posts = await load.end();
  report(`${whole} snapshots while ${posts} prompts were accepted, ${killed} killed`);
  await waitForIdle(access, agents);
  const told = await tell(access, agents);
  host.kill("SIGTERM");
  await host.exited;
  addAttachment(world.dataRoot, agents[0]);
  const last = await runRole(bundles.host, snapshotCall(target, world.dataRoot));
  findings.expect(
    last.answer?.kind === "snapshot",
    `the last snapshot failed: ${JSON.stringify(last.answer)}`,
  );
  const source = join(folder, "source");
  cpSync(world.dataRoot, source, { recursive: true });
  await compareRestored(scene, source);
  await tellAgain(scene, { agents, told, from: last.answer?.facts?.id });
  return {
    root: source,
    figures: { "prompts accepted meanwhile": posts, snapshots: whole, "snapshots killed": killed },
  };
}

/** Something that takes a while to bring back. */
function addAttachment(root, agentId) {
  const path = join(root, "agents", agentId, "attachments", "large.bin");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, randomBytes(attachmentBytes));
}

const snapshotCall = (target, root) => ({
  ...{ kind: "snapshot", keep: 5, takeOver: false, gentle: false },
  ...{ root, store: target.access("main") },
});
const restoreCall = (target, root, at = null) => ({
  ...{ kind: "restore", at, dryRun: false },
  ...{ root, store: target.access("main") },
});

/** A snapshot that was taken while prompts came in: every database sound, everything acknowledged before in it. */
async function checkSnapshot({ target, bundles, findings, folder }, id, acknowledged, round) {
  const root = join(folder, `look-${round}`);
  const { answer } = await runRole(bundles.host, restoreCall(target, root, String(id)));
  findings.expect(answer?.kind === "restored", `snapshot ${id} doesn't restore: ${JSON.stringify(answer)}`);
  if (answer?.kind !== "restored") return;
  const { nonces, unsound } = readStores(root);
  for (const one of unsound) findings.expect(false, `snapshot ${id} holds an unsound database: ${one}`);
  const lost = acknowledged.filter((nonce) => !nonces.has(nonce));
  findings.expect(
    lost.length === 0,
    `snapshot ${id} misses ${lost.length} prompts that were acknowledged before it`,
  );
}

/** The control: files that are copied as they lie there must be seen to miss what was acknowledged. */
async function copyBlindly({ findings, folder }, dataRoot, acknowledged) {
  for (let round = 0; round < 10; round += 1) {
    const known = [...acknowledged];
    const root = join(folder, `blind-copy-${round}`);
    cpSync(join(dataRoot, "agents"), join(root, "agents"), {
      recursive: true,
      filter: (path) => !/-(?:wal|shm)$/u.test(path),
    });
    if (isShort(root, known)) return;
    await delay(100);
  }
  findings.expect(false, "a plain copy of live databases looks whole too: the proof is blind");
}

function isShort(root, acknowledged) {
  try {
    const { nonces, unsound } = readStores(root);
    return unsound.length > 0 || acknowledged.some((nonce) => !nonces.has(nonce));
  } catch {
    // It can't even be opened.
    return true;
  }
}

async function compareRestored({ target, bundles, findings, folder }, source) {
  const root = join(folder, "empty-machine");
  const { answer } = await runRole(bundles.host, restoreCall(target, root));
  findings.expect(answer?.kind === "restored", `no restore on an empty machine: ${JSON.stringify(answer)}`);
  const different = answer?.kind === "restored" ? differences(fingerprint(source), fingerprint(root)) : [];
  findings.expect(different.length === 0, `after a restore these differ: ${different.join(", ")}`);
}

const tell = (access, agents) =>
  Promise.all(agents.map((id) => callOrFail(access, "getAgentTranscript", { id })));

async function waitForIdle(access, agents) {
  const endMs = Date.now() + 600_000;
  for (;;) {
    const rows = await callOrFail(access, "listAgents", {});
    if (rows.filter(({ id }) => agents.includes(id)).every(({ isRunning }) => isRunning === false)) return;
    if (Date.now() > endMs) throw new Error("the agents don't come to rest");
    await delay(200);
  }
}

/** A host on the restored root has the same conversations. */
async function tellAgain({ target, bundles, findings }, { agents, told, from }) {
  await using world = await kit.createWorld({ label: "box-store-again", bundles, sandbox: "off" });
  const { answer } = await runRole(bundles.host, restoreCall(target, world.dataRoot, from ?? null));
  findings.expect(answer?.kind === "restored", `no restore for another host: ${JSON.stringify(answer)}`);
  await world.startDaemon();
  const { access } = await world.startHost();
  const again = await tell(access, agents);
  findings.expect(
    JSON.stringify(again) === JSON.stringify(told),
    "the restored host tells other conversations",
  );
}

/** Restores that are killed at random: nothing is deleted, no part of them is taken for the whole. */
async function interruptRestores(scene, source, kills) {
  const { target, bundles, findings, random, folder } = scene;
  const store = await target.open("main");
  const keys = async () => {
    const found = [];
    for (const prefix of ["objects/", "manifests/"])
      for await (const { key } of store.list(prefix)) found.push(key);
    return found.sort().join("\n");
  };
  const before = await keys();
  const root = join(folder, "interrupted");
  const startedMs = performance.now();
  await runRole(bundles.host, restoreCall(target, join(folder, "timed")));
  const wholeMs = Math.round(performance.now() - startedMs);
  let killed = 0;
  let partial = 0;
  // A few more where every kill came too early or too late.
  const isDue = (round) => round < kills || (partial === 0 && round < kills + 30);
  for (let round = 0; isDue(round) && !existsSync(root); round += 1) {
    const ended = await runRole(bundles.host, restoreCall(target, root), {
      killAfterMs: random.whole(100, wholeMs),
    });
    killed += ended.killed ? 1 : 0;
    const stage = readdirSync(folder).find((name) => name.startsWith(".interrupted.restore-"));
    if (stage === undefined) {
      // It was faster than the kill.
      await rm(root, { recursive: true, force: true });
      continue;
    }
    if (!isPartial(join(folder, stage))) continue;
    partial += 1;
    const backup = await runRole(bundles.host, {
      ...snapshotCall(target, join(folder, stage)),
      takeOver: true,
    });
    findings.expect(
      backup.answer?.code === "box-store/incomplete",
      `a part was backed up: ${JSON.stringify(backup.answer)}`,
    );
    // Mostly begun anew, so that there is something to interrupt.
    if (!random.chance(0.2)) await rm(join(folder, stage), { recursive: true, force: true });
  }
  findings.expect((await keys()) === before, "an interrupted restore changed the store");
  await store.close();
  if (!existsSync(root)) await runRole(bundles.host, restoreCall(target, root));
  const different = differences(fingerprint(source), fingerprint(root));
  findings.expect(
    different.length === 0,
    `an interrupted restore ends with other files: ${different.join(", ")}`,
  );
  findings.expect(partial > 0, "no restore was interrupted in its middle");
  return { "restores killed": killed, "of them with a part on disk": partial };
}

function isPartial(root) {
  return readFileSync(join(root, "box-store", "state.json"), "utf8").includes('"partial"');
}
