/**
 * The fuzz: malformed requests from a seed against host and daemon as processes, with a bounded number under way at
 * once. After it both must be alive and well, have answered what they owed without a 500 or a stack, and the host's
 * memory after collection must be near where it began.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { callGateway, callOrFail, fieldOf, type GatewayAccess, textOf } from "../gateway-client.ts";
import { countOpenFiles } from "../leak-check.ts";
import type { StartedProcess } from "../processes/child-process.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type SandWorld } from "../processes/sand-world.ts";
import { collectFindings, type Findings, type ProofResult } from "../proofs/proof-result.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { awaitRest } from "./await-rest.ts";
import { type Bearers, buildRequest, type FuzzRequest } from "./build-request.ts";
import { buildSocket } from "./build-socket.ts";
import { deleteAllAgents } from "./delete-agents.ts";
import type { FuzzServer, FuzzTarget } from "./fuzz-target.ts";
import { judgeAnswer } from "./judge-answer.ts";
import { measureMemory, memoryExtras } from "./measure-memory.ts";
import { e2bTargets } from "./sample-e2b.ts";
import { daemonTargets, gatewayTargets } from "./sample-requests.ts";
import { echoTerminal, terminalTargets } from "./sample-terminals.ts";
import { type RawAnswer, sendRequest } from "./send-request.ts";

export interface FuzzOptions {
  readonly bundles: SandBundles;
  readonly seed: number;
  /** requests in all, at least; every target gets an equal share */
  readonly requests: number;
  /** the fewest requests that every command and route must get, raw frames not counted; more are sent for it if need be */
  readonly perTargetMin: number;
  /** who is asked; host and daemon when left out */
  readonly servers?: readonly FuzzServer[];
}

const underWayMax = 8;
const answerDeadlineMs = 15_000;
/** what the proof allows over the start, after collection */
const growthMaxBytes = 64 * 1024 * 1024;
/** the daemon loads most of itself with the first use, and keeps the newest executions and terminals on purpose */
const daemonGrowthMaxBytes = 192 * 1024 * 1024;
const descriptorsGrowthMax = 100;
/** of the log of a daemon that died */
const logTailChars = 2_000;
const healthEvery = 500;
/** some of a target's share are raw frames, which reach no target */
const shareForRaw = 1.1;

interface FuzzRun {
  readonly findings: Findings;
  readonly ports: Readonly<Record<FuzzServer, number>>;
  readonly counts: Map<string, number>;
  readonly statuses: Map<string, number>;
  withBearer: number;
}

export async function runFuzz(options: FuzzOptions): Promise<ProofResult> {
  await using world = await createWorld({ label: "fuzz", bundles: options.bundles, sandbox: "off" });
  const stage = await openStage(world);
  const { access, host, daemon } = stage;
  const servers = options.servers ?? ["gateway", "daemon"];
  const targets = [
    ...gatewayTargets(await makeIds(access)),
    ...[...daemonTargets(), ...terminalTargets(), ...e2bTargets()],
  ].filter(({ server }) => servers.includes(server));
  // Chance gives one target fewer than another, and the fewest count.
  const share = (options.perTargetMin + 2 * Math.sqrt(options.perTargetMin)) * shareForRaw;
  const requests = Math.max(options.requests, Math.ceil(targets.length * share));
  const before = await stage.measure();
  const run: FuzzRun = {
    findings: collectFindings(),
    ports: stage.ports,
    counts: new Map(),
    statuses: new Map(),
    withBearer: 0,
  };
  await sendAll(run, { seed: options.seed, requests }, targets, world);
  await expectAlive(run.findings, access, [host, daemon]);
  if (daemon.exit() !== undefined) {
    const said = (await daemon.output()).slice(-logTailChars);
    return { figures: { seed: options.seed, requests }, findings: [said, ...run.findings.list] };
  }
  const agentsMade = await deleteAllAgents(access);
  const after = await stage.measure();
  const { findings } = run;
  const grown = judgeGrowth(findings, before, after);
  expectCleanLogs(findings, world);
  const bearerShare = Math.round((100 * run.withBearer) / requests);
  findings.expect(bearerShare >= 70, `only ${bearerShare} % carried a valid bearer`);
  const fewest = Math.min(...targets.map((target) => run.counts.get(target.name) ?? 0));
  findings.expect(fewest >= options.perTargetMin, `one target got only ${fewest} requests`);
  return {
    figures: {
      seed: options.seed,
      requests,
      withValidBearerPercent: bearerShare,
      targets: targets.length,
      fewestForOneTarget: fewest,
      agentsMade,
      ...grown,
      statuses: [...run.statuses]
        .sort()
        .map(([status, count]) => `${status}: ${count}`)
        .join(", "),
    },
    findings: findings.list,
  };
}

function judgeGrowth(findings: Findings, before: Measured, after: Measured) {
  const grownMb = toMb(after.host - before.host);
  const daemonGrownMb = toMb(after.daemon - before.daemon);
  const opened = after.descriptors - before.descriptors;
  findings.expect(after.host <= before.host + growthMaxBytes, `the host has grown by ${grownMb} MB`);
  findings.expect(
    after.daemon <= before.daemon + daemonGrowthMaxBytes,
    `the daemon has grown by ${daemonGrownMb} MB`,
  );
  findings.expect(opened <= descriptorsGrowthMax, `the daemon has ${opened} descriptors more`);
  return {
    ...{ startMb: toMb(before.host), endMb: toMb(after.host), grownMb },
    ...{ daemonStartMb: toMb(before.daemon), daemonGrownMb, daemonDescriptorsGrown: opened },
  };
}

interface Measured {
  readonly host: number;
  readonly daemon: number;
  readonly descriptors: number;
}

interface FuzzStage {
  readonly access: GatewayAccess;
  readonly host: StartedProcess;
  readonly daemon: StartedProcess;
  readonly ports: Readonly<Record<FuzzServer, number>>;
  measure(): Promise<Measured>;
}

async function openStage(world: SandWorld): Promise<FuzzStage> {
  const [hostFile, daemonFile] = [
    join(world.folder, "memory.json"),
    join(world.folder, "daemon-memory.json"),
  ];
  // So deep that a name which leads up a step or two still stays in the world's folder.
  const home = join(world.folder, "home", "a", "b", "c");
  mkdirSync(home, { recursive: true });
  const extras = memoryExtras(daemonFile);
  const daemon = await world.startDaemon({
    ...extras,
    env: { ...extras.env, HOME: home, SAND_E2B_COMPAT: "1", SAND_E2B_PORT: "0" },
  });
  const { access, process: host } = await world.startHost(memoryExtras(hostFile));
  const found: unknown = JSON.parse(readFileSync(join(world.dataRoot, "exec-daemon.json"), "utf8"));
  const ports = {
    gateway: Number(new URL(access.url).port),
    daemon: Number(fieldOf(found, "rpcPort")),
    terminals: Number(fieldOf(found, "ptyPort")),
    e2b: Number(fieldOf(fieldOf(found, "e2b"), "port")),
  };
  await fetch(`http://127.0.0.1:${ports.terminals}/terminals`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.secrets.daemon}` },
    body: JSON.stringify(echoTerminal),
  });
  return {
    ...{ access, host, daemon, ports },
    async measure() {
      await awaitRest(host.pid);
      return {
        host: await measureMemory(host, hostFile),
        daemon: await measureMemory(daemon, daemonFile),
        descriptors: countOpenFiles(daemon.pid),
      };
    },
  };
}

function toMb(bytes: number): number {
  return Math.round(bytes / 1024 / 102.4) / 10;
}

async function makeIds(access: GatewayAccess): Promise<{ readonly agentId: string; readonly nonce: string }> {
  const nonce = "fuzz-nonce";
  const made = await callOrFail(access, "createAgent", { name: "target", description: "" });
  const agentId = textOf(fieldOf(fieldOf(made, "agent"), "id"));
  await callOrFail(access, "sendPrompt", { agentId, prompt: "script:say hello", clientNonce: nonce });
  return { agentId, nonce };
}

/** Workers take the next request when they are free, so that `underWayMax` is kept without waiting for the slowest. */
async function sendAll(
  run: FuzzRun,
  options: Pick<FuzzOptions, "seed" | "requests">,
  targets: readonly FuzzTarget[],
  world: SandWorld,
): Promise<void> {
  const random = createSeededRandom(options.seed);
  const { gateway, daemon } = world.secrets;
  const bearers: Bearers = { gateway, daemon, terminals: daemon, e2b: daemon };
  let next = 0;
  const worker = async () => {
    while (next < options.requests) {
      const target = targets[next % targets.length];
      next += 1;
      if (target === undefined) return;
      const request = target.isSocket
        ? buildSocket(random, target, bearers[target.server])
        : buildRequest(random, target, bearers);
      note(run, target, request);
      const answer = await sendOne(run, request);
      noteAnswer(run, answer);
      judgeAnswer(run.findings, request, answer);
      if (next % healthEvery === 0) await expectHealth(run);
    }
  };
  await Promise.all(Array.from({ length: underWayMax }, worker));
}

function note(run: FuzzRun, target: FuzzTarget, request: FuzzRequest): void {
  // A raw frame reaches no route, so it doesn't count for one.
  if (request.target !== "raw") run.counts.set(target.name, (run.counts.get(target.name) ?? 0) + 1);
  if (request.hasBearer) run.withBearer += 1;
}

function noteAnswer(run: FuzzRun, answer: RawAnswer): void {
  const key = answer.timedOut ? "silent" : String(answer.status ?? "hung up");
  run.statuses.set(key, (run.statuses.get(key) ?? 0) + 1);
}

function sendOne(run: FuzzRun, request: FuzzRequest): Promise<RawAnswer> {
  return sendRequest({
    port: run.ports[request.server],
    bytes: request.bytes,
    isOpenEnded: request.isOpenEnded,
    hangsUp: !request.isWellFramed,
    deadlineMs: answerDeadlineMs,
  });
}

async function expectHealth(run: FuzzRun): Promise<void> {
  const request = "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
  const answer = await sendRequest({
    port: run.ports.gateway,
    bytes: Buffer.from(request),
    isOpenEnded: false,
    hangsUp: false,
    deadlineMs: answerDeadlineMs,
  });
  run.findings.expect(
    answer.status === 200,
    `health answers ${answer.status ?? "nothing"} in the middle of the fuzz`,
  );
}

async function expectAlive(
  findings: Findings,
  access: GatewayAccess,
  processes: readonly StartedProcess[],
): Promise<void> {
  for (const one of processes) {
    const exit = one.exit();
    findings.expect(exit === undefined, `the ${one.name} ended as ${JSON.stringify(exit)}`);
  }
  const reply = await callGateway(access, "listAgents", {});
  findings.expect(
    reply.kind === "answered" && reply.status === 200,
    `after the fuzz listAgents answers ${JSON.stringify(reply).slice(0, 200)}`,
  );
}

/** What the processes call a bug or an unexpected error is one, whatever the client was told. */
function expectCleanLogs(findings: Findings, world: SandWorld): void {
  for (const log of ["host.log", "daemon.log"]) {
    const lines = readFileSync(join(world.folder, log), "utf8").split("\n");
    const bad = lines.filter((line) => line.includes('"level":60') || line.includes("InvariantError"));
    for (const line of bad) findings.expect(false, `${log}: ${line.slice(0, 400)}`);
  }
}
