/**
 * Runs every attack against a daemon that is there already and says what came of each, as JSON. It runs where the
 * daemon runs: on a plain machine in a network namespace of the test, or in a container.
 *
 * node run-attacks.mjs <file with the settings as JSON>
 *
 * @typedef {{port: number, token: string, daemonPid: number, base: string, workspace: string, home: string,
 *   dataRoot: string, owner: string | null, network: boolean, only?: string, every?: number, offset?: number,
 *   settleMs?: number}} Settings
 *
 * `every` n: only each n-th attack of a group, from `offset` on.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileAttacks } from "./file-attacks.mjs";
import { listen } from "./listeners.mjs";
import { networkAttacks, networkWork } from "./network-attacks.mjs";
import { createClient } from "./rpc.mjs";
import { systemAttacks } from "./system-attacks.mjs";
import { openWorld } from "./world.mjs";

/** links are put back, and mount points removed, after a run's end is known */
const settleMaxMs = 5000;
/** the daemon removes them within two looks, a second apart; a busy machine takes longer */
const phantomsMaxMs = 60_000;
const evidenceMaxChars = 300;

/** @type {Settings} */
const settings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const world = openWorld(settings);
const client = createClient(settings);
const listeners = settings.network ? await listen() : undefined;

const prefix = [
  `OUT=${world.outside} MAIN=${world.main} USER_HOME=${world.home} DATA=${settings.dataRoot}`,
  `DAEMON=${settings.daemonPid} PLANT=planted-`,
  "",
].join("\n");

async function attack({ name, group, script }) {
  world.layOut();
  const before = world.snapshot();
  const hitsBefore = listeners?.hits() ?? 0;
  let output = "";
  try {
    output = await client.run(`${prefix}${script}`);
  } catch (error) {
    output = `refused: ${error.message}`;
  }
  // What a process that stays behind would do takes a moment.
  if (script.includes("setsid")) await delay(1500);
  const changes = await changesAfter(before);
  const isHit = (listeners?.hits() ?? 0) > hitsBefore;
  const breached = /BREACH|REACHED/u.test(output) || changes.length > 0 || isHit;
  const evidence = [...changes, output.trim()].join("; ").slice(0, evidenceMaxChars);
  return { name, group, breached, evidence };
}

async function changesAfter(before) {
  const endMs = Date.now() + (settings.settleMs ?? settleMaxMs);
  for (;;) {
    const changes = world.snapshot().filter((line, at) => line !== before[at]);
    if (changes.length === 0 || Date.now() > endMs) return changes;
    await delay(50);
  }
}

/** What an agent does every day, and must be able to. */
async function work() {
  const commit = "commit -q --allow-empty -m second && git log --format=%s -1";
  const rows = [
    ["a file in the workspace", "echo hello > file && cat file", "hello"],
    ["a commit", `cd plain && git ${commit}`, "second"],
    ["a commit in a worktree", `cd tree && git -c user.name=t -c user.email=t@e.test ${commit}`, "second"],
    [
      "a commit in a submodule",
      `cd super/vendor/lib && git -c user.name=t -c user.email=t@e.test ${commit}`,
      "second",
    ],
    [
      "a repository of its own",
      "git init -q own && cd own && git hash-object -w --stdin < /dev/null && echo made",
      "made",
    ],
    ["writing into what is kept", "echo more >> kept/file && tail -n 1 kept/file", "more"],
    [
      "terminals, shared memory and null",
      "test -c /dev/null && test -d /dev/pts && : > /dev/shm/x && echo there",
      "there",
    ],
    ["threads and pipes", "seq 1 100 | xargs -P 4 -n 10 echo | wc -l", "10"],
    ...(settings.network ? networkWork : []),
  ];
  const results = [];
  for (const [name, script, wanted] of rows) {
    world.layOut();
    const output = await client.run(script);
    results.push({ name, ok: output.includes(wanted), evidence: output.trim().slice(0, evidenceMaxChars) });
  }
  return results;
}

/** Nothing is left in the workspace by runs that were killed. */
async function phantoms() {
  world.layOut();
  const names = async () => (await readdir(world.workspace)).sort().join(" ");
  const before = await names();
  for (let round = 0; round < 5; round += 1) {
    const { processId } = await client.start("sleep 30");
    await client.call("Processes/Signal", { processId, name: "SIGKILL", scope: "SIGNAL_SCOPE_GROUP" });
    await client.call("Processes/Wait", { processId, waitMs: 20_000 });
  }
  const endMs = Date.now() + phantomsMaxMs;
  while ((await names()) !== before && Date.now() < endMs) await delay(50);
  return { before, after: await names() };
}

function sampleOf(attacks) {
  const { every = 1, offset = 0 } = settings;
  const seen = {};
  return attacks.filter(({ group }) => {
    const place = seen[group] ?? 0;
    seen[group] = place + 1;
    return place % every === offset % every;
  });
}

mkdirSync(join(settings.home, ".ssh"), { recursive: true });
writeFileSync(join(settings.home, ".ssh/id_test"), "planted-token-of-ssh\n", { mode: 0o644 });
const all = [
  ...fileAttacks,
  ...systemAttacks,
  ...(settings.network
    ? networkAttacks({ loopbackPort: listeners.loopbackPort, daemonPort: settings.port })
    : []),
].filter(({ name }) => settings.only === undefined || name.includes(settings.only));
const results = [];
for (const one of sampleOf(all)) results.push(await attack(one));
const report = { results, work: await work(), phantoms: await phantoms() };
listeners?.close();
process.stdout.write(`\n${JSON.stringify(report)}\n`, () => process.exit(0));
