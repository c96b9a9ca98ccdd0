/**
 * The stage of one sweep: a world with a daemon and clients at work, and the host of the moment. A killer walks on and
 * takes hosts or daemons down; the stage knows how to bring them back, and how to bring everything to its end.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GatewayAccess } from "../gateway-client.ts";
import type { StartedProcess } from "../processes/child-process.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type ProcessExtras, type SandWorld } from "../processes/sand-world.ts";
import { createSeededRandom, type SeededRandom } from "../seeded-random.ts";
import { waitUntil } from "../wait-until.ts";
import { collectEvidence } from "./collect-evidence.ts";
import type { KillRecord } from "./kill-record.ts";
import { readOpenTurns } from "./read-stores.ts";
import { findRunning, type SweepClients, startSweepClients, waitForIdle } from "./sweep-clients.ts";
import type { SweepEvidence } from "./sweep-evidence.ts";
import { type EffectPaths, editAnchor, planWork, toModelScript } from "./work-plan.ts";

export interface StageOptions {
  readonly seed: number;
  readonly bundles: SandBundles;
  readonly hasLedger: boolean;
  /** the sweep kills what waits for commands */
  readonly mayBeUnknown: boolean;
  readonly agents: number;
  readonly promptsPerAgent: number;
  /** see the clients' */
  readonly idleDeadlineMs?: number;
}

export interface SweepStage extends AsyncDisposable {
  readonly world: SandWorld;
  readonly random: SeededRandom;
  readonly kills: readonly KillRecord[];
  /** rejects when a client can't get through */
  readonly clients: SweepClients;
  /** a host that answers, or one that died on its way there */
  raiseHost(extras?: ProcessExtras): Promise<StartedProcess>;
  /** SIGKILL for the host of the moment, noted with what it was doing */
  killHost(at: string): Promise<void>;
  /** notes a death that `killHost` doesn't know of; the stores are read only when no host writes to them */
  noteDeath(death: Omit<KillRecord, "openTurns"> & Partial<KillRecord>): void;
  /** from here on no host is asked for anything */
  forgetHost(): void;
  raiseDaemon(extras?: ProcessExtras): Promise<void>;
  daemon(): StartedProcess;
  /** the host that answers now */
  access(): GatewayAccess;
  countRunning(): Promise<number | null>;
  /** stops the clients, lets every turn end, and hands over what the checker needs */
  finish(): Promise<SweepEvidence>;
}

/** by then a host that was asked to end has ended, and its daemon's spare processes too */
const shutdownDeadlineMs = 20_000;

export async function openSweepStage(options: StageOptions): Promise<SweepStage> {
  const random = createSeededRandom(options.seed);
  const plan = planWork(random.fork("plan"), options);
  const state: {
    access?: GatewayAccess;
    host?: StartedProcess;
    daemon?: StartedProcess;
    wantsMore: boolean;
  } = {
    wantsMore: true,
  };
  const kills: KillRecord[] = [];
  const { world, paths } = await prepareWorld(options, (folders) => toModelScript(plan, folders));
  const daemonEnv = options.hasLedger ? {} : { SAND_EXEC_LEDGER: "off" };
  const access = () => state.access;
  const clients = startSweepClients({
    ...{ plan, random, access, wantsMore: () => state.wantsMore },
    ...(options.idleDeadlineMs === undefined ? {} : { idleDeadlineMs: options.idleDeadlineMs }),
  });
  // The first failure is reported by `finish`; until then it must not end this process.
  clients.done.catch(() => undefined);
  const countRunning = async () => (await findRunning({ access }))?.length ?? null;
  const stage: SweepStage = {
    world,
    random: random.fork("killer"),
    kills,
    clients,
    countRunning,
    daemon: () => required(state.daemon, "a daemon"),
    access: () => required(state.access, "a host that answers"),
    async raiseHost(extras) {
      const host = world.spawnHost(extras);
      const replaced = state.host?.exit() === undefined ? state.host : undefined;
      state.host = host;
      const start = await world.awaitHost(host);
      if (start.kind === "ready") state.access = start.access;
      // A replacement that died has replaced nobody.
      else if (replaced?.exit() === undefined) state.host = replaced ?? host;
      return host;
    },
    async killHost(at) {
      const shownRunning = await countRunning();
      delete state.access;
      await state.host?.end();
      stage.noteDeath({ at, shownRunning });
    },
    noteDeath(death) {
      kills.push({ ...death, openTurns: death.openTurns ?? readOpenTurns(world.dataRoot) });
    },
    forgetHost() {
      delete state.access;
    },
    async raiseDaemon(extras) {
      state.daemon = await world.startDaemon({ ...extras, env: { ...daemonEnv, ...extras?.env } });
    },
    async finish() {
      state.wantsMore = false;
      if (state.access === undefined) await stage.raiseHost();
      await clients.done;
      const reached = required(state.access, "a host that answers");
      await waitForIdle({ access }, clients.createdAgents.flat());
      const evidence = await collectEvidence({
        world,
        access: reached,
        plan,
        clients,
        paths,
        hasLedger: options.hasLedger,
        mayBeUnknown: options.mayBeUnknown,
      });
      return { ...evidence, leftProcesses: await shutDown(world, [state.host, state.daemon]) };
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
  return stage;
}

async function prepareWorld(options: StageOptions, script: (paths: EffectPaths) => string) {
  // The script names files of the world, and the world is started with the script: so the paths are relative.
  const relative: EffectPaths = {
    witness: "witness.txt",
    writtenFolder: "written",
    editedFile: (agent) => `edited-${agent}.txt`,
  };
  const world = await createWorld({
    label: "sweep",
    bundles: options.bundles,
    sandbox: "off",
    modelScript: script(relative),
  });
  const paths: EffectPaths = {
    witness: join(world.workspace, relative.witness),
    writtenFolder: join(world.workspace, relative.writtenFolder),
    editedFile: (agent) => join(world.workspace, relative.editedFile(agent)),
  };
  mkdirSync(paths.writtenFolder);
  for (let agent = 0; agent < options.agents; agent += 1)
    writeFileSync(paths.editedFile(agent), `${editAnchor}\n`);
  return { world, paths };
}

/** Ends host and daemon as a person would, and names what stays although it shouldn't. */
async function shutDown(
  world: SandWorld,
  processes: readonly (StartedProcess | undefined)[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const one of processes) {
    if (one === undefined) continue;
    one.kill("SIGTERM");
    const late = waitUntil(`the ${one.name} to end`, () => one.exit(), { deadlineMs: shutdownDeadlineMs });
    const exit = await late.catch(() => undefined);
    if (exit?.code !== 0) found.push(`the ${one.name} ended as ${JSON.stringify(exit ?? "still running")}`);
  }
  const left = () => world.leftProcesses();
  await waitUntil("nothing to be left", () => left().length === 0, { deadlineMs: shutdownDeadlineMs }).catch(
    () => undefined,
  );
  return [...found, ...left().map(({ pid, command }) => `${pid} ${command}`)];
}

/** Keeps a failed world for a person to look at. */
export function keepWorld(world: SandWorld, folder: string, evidence: SweepEvidence): void {
  mkdirSync(folder, { recursive: true });
  cpSync(world.folder, folder, { recursive: true, filter: (path) => !path.endsWith(".sock") });
  writeFileSync(join(folder, "evidence.json"), JSON.stringify(evidence, null, 1));
}

function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the sweep has no ${what.replace(/^an? /u, "")}`);
  return value;
}
