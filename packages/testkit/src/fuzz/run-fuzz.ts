/**
 * The fuzz: malformed requests from a seed against host and daemon as processes, with a bounded number under way at
 * once. After it both must be alive and well, have answered what they owed without a 500 or a stack, and the host's
 * memory after collection must be near where it began.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { callGateway, callOrFail, fieldOf, type GatewayAccess, textOf } from "../gateway-client.ts";
import type { StartedProcess } from "../processes/child-process.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type SandWorld } from "../processes/sand-world.ts";
import { collectFindings, type Findings, type ProofResult } from "../proofs/proof-result.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { type Bearers, buildRequest, type FuzzRequest } from "./build-request.ts";
import { measureMemory, memoryExtras } from "./measure-memory.ts";
import { daemonTargets, type FuzzTarget, gatewayTargets } from "./sample-requests.ts";
import { type RawAnswer, sendRequest } from "./send-request.ts";

export interface FuzzOptions {
  readonly bundles: SandBundles;
  readonly seed: number;
  /** requests in all, at least; every target gets an equal share */
  readonly requests: number;
  /** the fewest requests that every command and route must get, raw frames not counted; more are sent for it if need be */
  readonly perTargetMin: number;
}

const underWayMax = 8;
const answerDeadlineMs = 15_000;
/** what the proof allows over the start, after collection */
const growthMaxBytes = 64 * 1024 * 1024;
const healthEvery = 500;
/** some of a target's share are raw frames, which reach no target */
const shareForRaw = 1.1;

interface FuzzRun {
  readonly findings: Findings;
  readonly ports: Readonly<Record<"gateway" | "daemon", number>>;
  readonly counts: Map<string, number>;
  readonly statuses: Map<string, number>;
  withBearer: number;
}

export async function runFuzz(options: FuzzOptions): Promise<ProofResult> {
  await using world = await createWorld({ label: "fuzz", bundles: options.bundles, sandbox: "off" });
  const memoryFile = join(world.folder, "memory.json");
  const daemon = await world.startDaemon();
  const { access, process: host } = await world.startHost(memoryExtras(memoryFile));
  const targets = [...gatewayTargets(await makeIds(access)), ...daemonTargets()];
  // Chance gives one target fewer than another, and the fewest count.
  const share = (options.perTargetMin + 2 * Math.sqrt(options.perTargetMin)) * shareForRaw;
  const requests = Math.max(options.requests, Math.ceil(targets.length * share));
  const startBytes = await measureMemory(host, memoryFile);
  const run: FuzzRun = {
    findings: collectFindings(),
    ports: { gateway: Number(new URL(access.url).port), daemon: readDaemonPort(world) },
    counts: new Map(),
    statuses: new Map(),
    withBearer: 0,
  };
  await sendAll(run, { seed: options.seed, requests }, targets, world);
  await expectAlive(run.findings, access, [host, daemon]);
  const endBytes = await measureMemory(host, memoryFile);
  const grownMb = toMb(endBytes - startBytes);
  run.findings.expect(endBytes <= startBytes + growthMaxBytes, `the host has grown by ${grownMb} MB`);
  expectCleanLogs(run.findings, world);
  const bearerShare = Math.round((100 * run.withBearer) / requests);
  run.findings.expect(bearerShare >= 70, `only ${bearerShare} % carried a valid bearer`);
  const fewest = Math.min(...targets.map((target) => run.counts.get(target.name) ?? 0));
  run.findings.expect(fewest >= options.perTargetMin, `one target got only ${fewest} requests`);
  return {
    figures: {
      seed: options.seed,
      requests,
      withValidBearerPercent: bearerShare,
      targets: targets.length,
      fewestForOneTarget: fewest,
      startMb: toMb(startBytes),
      endMb: toMb(endBytes),
      grownMb,
      statuses: [...run.statuses]
        .sort()
        .map(([status, count]) => `${status}: ${count}`)
        .join(", "),
    },
    findings: run.findings.list,
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

function readDaemonPort(world: SandWorld): number {
  const found: unknown = JSON.parse(readFileSync(join(world.dataRoot, "exec-daemon.json"), "utf8"));
  return Number(fieldOf(found, "rpcPort"));
}

/** Workers take the next request when they are free, so that `underWayMax` is kept without waiting for the slowest. */
async function sendAll(
  run: FuzzRun,
  options: Pick<FuzzOptions, "seed" | "requests">,
  targets: readonly FuzzTarget[],
  world: SandWorld,
): Promise<void> {
  const random = createSeededRandom(options.seed);
  const bearers: Bearers = { gateway: world.secrets.gateway, daemon: world.secrets.daemon };
  let next = 0;
  const worker = async () => {
    while (next < options.requests) {
      const target = targets[next % targets.length];
      next += 1;
      if (target === undefined) return;
      const request = buildRequest(random, target, bearers);
      note(run, target, request);
      judge(run, request, await sendOne(run, request));
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

function sendOne(run: FuzzRun, request: FuzzRequest): Promise<RawAnswer> {
  return sendRequest({
    port: run.ports[request.server],
    bytes: request.bytes,
    isOpenEnded: request.isOpenEnded,
    hangsUp: !request.isWellFramed,
    deadlineMs: answerDeadlineMs,
  });
}

const stackLine = /\n\s+at .+[:)]|\bat (?:async )?[\w.<>]+ \(|node:internal|\/src\/[\w/-]+\.ts|\.cjs:\d+/u;

function judge(run: FuzzRun, request: FuzzRequest, answer: RawAnswer): void {
  const shown = request.bytes
    .toString("latin1")
    .replace(/Bearer \S+/u, "Bearer …")
    .slice(0, 400);
  const key = answer.timedOut ? "silent" : String(answer.status ?? "hung up");
  run.statuses.set(key, (run.statuses.get(key) ?? 0) + 1);
  const { findings } = run;
  const status = answer.status ?? 0;
  // 501 is what a planned command answers, and what a procedure says of what isn't built.
  findings.expect(
    status < 500 || status === 501,
    `${request.target} was answered ${answer.text.slice(0, 300)} for ${shown}`,
  );
  findings.expect(
    !stackLine.test(answer.text),
    `${request.target} shows a stack: ${answer.text.slice(0, 600)}`,
  );
  findings.expect(!answer.timedOut || request.isOpenEnded, `${request.target} is silent for ${shown}`);
  findings.expect(
    answer.status !== undefined || !request.isWellFramed || request.isOpenEnded,
    `${request.target} hung up on a whole request: ${shown}`,
  );
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
