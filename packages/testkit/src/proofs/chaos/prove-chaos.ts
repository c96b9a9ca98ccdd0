/**
 * The chaos: clients start, attach, detach, signal, type and watch at random, while the daemon is killed and started
 * again. Afterwards every execution has the end that it must have, and nothing is left: no process, no zombie, no
 * control group, no descriptor beyond those of the beginning.
 *
 * The last third of the time passes without kills, so that one daemon lives long enough to show what it piles up.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { SandBundles } from "../../processes/sand-bundles.ts";
import { createWorld, type SandWorld } from "../../processes/sand-world.ts";
import { createSeededRandom, type SeededRandom } from "../../seeded-random.ts";
import { waitUntil } from "../../wait-until.ts";
import { collectFindings, type ProofResult } from "../proof-result.ts";
import { type ChaosStage, chaosActions, endAll } from "./chaos-actions.ts";
import { type ChaosDaemons, createChaosDaemons, findControlGroups } from "./chaos-daemons.ts";
import { createChaosLedger } from "./chaos-ledger.ts";
import { createDaemonClient } from "./daemon-client.ts";

export interface ChaosOptions {
  readonly bundles: SandBundles;
  readonly seed: number;
  readonly seconds: number;
  /** something is left behind on purpose, which the check must find */
  readonly withControl: boolean;
}

const clients = 6;
const killsShare = 2 / 3;
/** between two kills, in `ms` */
const killsEvery = [1_500, 8_000] as const;
const settleMaxMs = 60_000;
/** further keepers may wait for work after a load, each with its pipes */
const descriptorsSlack = 24;
const growthMaxBytes = 160 * 1024 * 1024;
const lookEveryMs = 1_000;
const oneMb = 1024 * 1024;

export async function proveChaos(options: ChaosOptions): Promise<ProofResult> {
  await using world = await createWorld({ label: "chaos", bundles: options.bundles, sandbox: "off" });
  const daemons = createChaosDaemons(world);
  const findings = collectFindings();
  const client = createDaemonClient(() => daemons.access());
  const ledger = createChaosLedger({ client, findings, kills: () => daemons.kills });
  const stage: ChaosStage = { client, ledger };
  await daemons.start();
  const random = createSeededRandom(options.seed);
  // Each kind of action once, so that what is loaded with the first use doesn't count as a leak.
  for (const [at, action] of [...new Set(chaosActions)].entries())
    await action(stage, random.fork(`warm ${at}`), `warm-${at}`);
  await delay(2 * lookEveryMs);
  const base = daemons.look();
  const peaks = { descriptors: 0, residentBytes: 0 };
  await makeChaos({ stage, daemons, random, seconds: options.seconds, peaks });
  await endAll(stage);
  const isAtRest = (): boolean =>
    daemons.look().descriptors <= base.descriptors + descriptorsSlack && daemons.countZombies() === 0;
  await waitUntil("the daemon is at rest", isAtRest, { deadlineMs: settleMaxMs, everyMs: 200 }).catch(
    () => undefined,
  );
  const end = { ...daemons.look(), zombies: daemons.countZombies() };
  const grownMb = Math.round((end.residentBytes - base.residentBytes) / oneMb);
  findings.expect(
    end.zombies === 0 && end.descriptors <= base.descriptors + descriptorsSlack,
    `${end.zombies} zombies, ${end.descriptors} descriptors after ${base.descriptors}`,
  );
  findings.expect(end.residentBytes - base.residentBytes <= growthMaxBytes, `grown by ${grownMb} MB`);
  const left = await expectNothingLeft(world, daemons);
  for (const sentence of left) findings.expect(false, sentence);
  const control = options.withControl ? await leaveSomething(stage, world, daemons) : undefined;
  findings.expect(control !== 0, "what was left behind on purpose wasn't found: the check is blind");
  return {
    figures: {
      ...{ seed: options.seed, seconds: options.seconds, daemonKills: daemons.kills },
      ...{ "wrong outcomes": 0, "unknown outcomes": 0, ...ledger.counts },
      ...{ descriptorsBase: base.descriptors, descriptorsEnd: end.descriptors },
      ...{ descriptorsPeak: peaks.descriptors, zombies: end.zombies, leftProcesses: left.length },
      ...{ baseMb: Math.round(base.residentBytes / oneMb), endMb: Math.round(end.residentBytes / oneMb) },
      peakMb: Math.round(peaks.residentBytes / oneMb),
      ...(control === undefined ? {} : { control: `${control} left behind on purpose and found` }),
    },
    findings: findings.list,
  };
}

interface Chaos {
  readonly stage: ChaosStage;
  readonly daemons: ChaosDaemons;
  readonly random: SeededRandom;
  readonly seconds: number;
  readonly peaks: { descriptors: number; residentBytes: number };
}

async function makeChaos({ stage, daemons, random, seconds, peaks }: Chaos): Promise<void> {
  const startMs = Date.now();
  const endMs = startMs + seconds * 1000;
  const lastKillMs = startMs + seconds * 1000 * killsShare;
  const act = async (own: SeededRandom, name: string): Promise<void> => {
    for (let at = 0; Date.now() < endMs; at += 1) await own.pick(chaosActions)(stage, own, `${name}-${at}`);
  };
  const kill = async (own: SeededRandom): Promise<void> => {
    for (;;) {
      await delay(own.whole(...killsEvery));
      if (Date.now() > lastKillMs) return;
      await daemons.kill();
      await delay(own.whole(0, 300));
      await daemons.start();
    }
  };
  const timer = setInterval(() => {
    const { descriptors, residentBytes } = daemons.look();
    peaks.descriptors = Math.max(peaks.descriptors, descriptors);
    peaks.residentBytes = Math.max(peaks.residentBytes, residentBytes);
  }, lookEveryMs);
  try {
    await Promise.all([
      kill(random.fork("killer")),
      ...Array.from({ length: clients }, (_, at) => act(random.fork(`client ${at}`), `c${at}`)),
    ]);
  } finally {
    clearInterval(timer);
  }
}

/** Ends the daemon in order; then nothing may carry the world's name, and no control group may be left. */
async function expectNothingLeft(world: SandWorld, daemons: ChaosDaemons): Promise<readonly string[]> {
  await daemons.stop();
  const isEmpty = (): boolean => world.leftProcesses().length === 0;
  await waitUntil("nothing is left", isEmpty, { deadlineMs: settleMaxMs / 2, everyMs: 200 }).catch(
    () => undefined,
  );
  return [
    ...world.leftProcesses().map(({ pid, command }) => `left behind: ${pid} ${command.slice(0, 200)}`),
    ...findControlGroups(world.dataRoot).map((name) => `left behind: the control group ${name}`),
  ];
}

/** A command that leaves its group and outlives its execution is allowed to; here it stands for an orphan. */
async function leaveSomething(stage: ChaosStage, world: SandWorld, daemons: ChaosDaemons): Promise<number> {
  await daemons.start();
  const shell = "setsid sleep 300 < /dev/null > /dev/null 2>&1 & exit 4";
  await stage.client.insist("Processes/Start", { processId: "control", shell });
  await stage.ledger.settle("control", { code: 4 });
  return (await expectNothingLeft(world, daemons)).length;
}
