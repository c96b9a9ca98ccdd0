/**
 * Kills the container while agents work, over and over, and looks afterwards for what was lost or done twice.
 *
 * A kill takes commands along, so a command that was running has the outcome `unknown`. What must hold: an accepted
 * prompt stands in the transcript once, its turn settles, an effect happens at most once, and one whose command is
 * told as completed happened. Every tenth time the container is replaced over the same volumes instead of started.
 */
import { randomBytes } from "node:crypto";
import {
  callGateway,
  createSeededRandom,
  fieldOf,
  type SeededRandom,
  textOf,
  waitUntil,
} from "../packages/testkit/src/index.ts";
import {
  collectFindings,
  type Findings,
  type ProofResult,
} from "../packages/testkit/src/proofs/proof-result.ts";
import {
  awaitIdle,
  connectorEnvironment,
  countRunning,
  createAgent,
  docker,
  openStage,
  readTranscript,
  type TestBox,
  toolCalls,
} from "./container-stage.ts";

export interface ContainerKillsOptions {
  readonly image: string;
  readonly kills: number;
  readonly seed: number;
  /** false: the daemon forgets what it ran, and then the check has to find doubled effects */
  readonly hasLedger: boolean;
  readonly report: (line: string) => void;
}

const agentsPerRound = 3;
const killAfterMaxMs = 1200;
const commandMaxMs = 2500;
const replaceEvery = 10;
const acceptMaxMs = 60_000;
/** of a run that is long enough for a share to mean something */
const openTurnShareMin = 0.8;
const shareKillsMin = 20;
const finalStates: readonly string[] = ["completed", "failed", "interrupted", "denied", "unknown"];

interface Job {
  readonly agentId: string;
  readonly nonce: string;
  readonly prompt: string;
}

interface Tally {
  effects: number;
  unknown: number;
  completed: number;
  withOpenTurn: number;
}

export async function proveContainerKills(options: ContainerKillsOptions): Promise<ProofResult> {
  const findings = collectFindings();
  const random = createSeededRandom(options.seed);
  const tally: Tally = { effects: 0, unknown: 0, completed: 0, withOpenTurn: 0 };
  await using stage = openStage();
  const [data, workspace] = [await stage.createVolume(), await stage.createVolume()];
  const plan = {
    image: options.image,
    env: {
      ...connectorEnvironment(randomBytes(32).toString("hex")),
      SAND_EXEC_LEDGER: options.hasLedger ? "1" : "0",
    },
    args: ["--volume", `${data}:/home/box/sand-data`, "--volume", `${workspace}:/workspace`],
  };
  let box = await stage.startBox(plan);
  for (let round = 1; round <= options.kills; round += 1) {
    const jobs = await planJobs(box, random, round);
    const delivered = Promise.all(jobs.map((job) => deliver(() => box, job)));
    // Its failure is looked at below; meanwhile it isn't an unhandled one.
    delivered.catch(() => undefined);
    await waitMs(random.whole(0, killAfterMaxMs));
    if ((await countRunning(box)) > 0) tally.withOpenTurn += 1;
    await docker("kill", box.name);
    if (round % replaceEvery === 0) {
      await box.remove();
      box = await stage.startBox(plan);
    } else {
      await docker("start", box.name);
      await box.awaitHealth();
    }
    await delivered;
    for (const job of jobs) await awaitIdle(box, job.agentId);
    await checkRound({ box, jobs, findings, tally });
    options.report(`kill ${round}: ${JSON.stringify(tally)}, ${findings.list.length} findings`);
  }
  const share = tally.withOpenTurn / options.kills;
  findings.expect(
    share >= openTurnShareMin || options.kills < shareKillsMin,
    `only ${Math.round(100 * share)} % of the kills met an open turn`,
  );
  return {
    figures: { kills: options.kills, prompts: options.kills * agentsPerRound, ...tally },
    findings: findings.list,
  };
}

async function planJobs(box: TestBox, random: SeededRandom, round: number): Promise<readonly Job[]> {
  const jobs: Job[] = [];
  for (let index = 1; index <= agentsPerRound; index += 1) {
    const nonce = `kill-${round}-${index}`;
    const seconds = (random.whole(0, commandMaxMs) / 1000).toFixed(3);
    const prompt = `run \`echo ${nonce}.a >> effects; sleep ${seconds}; echo ${nonce}.b >> effects\``;
    const second = `then run \`echo ${nonce}.c >> effects\``;
    jobs.push({ agentId: await createAgent(box, nonce), nonce, prompt: `${prompt} ${second}` });
  }
  return jobs;
}

/** As a client does: the same nonce again until there is an answer. */
async function deliver(box: () => TestBox, { agentId, nonce, prompt }: Job): Promise<void> {
  const attempt = async (): Promise<boolean> => {
    // A container that is just being replaced has no address.
    const access = await box()
      .access()
      .catch(() => undefined);
    if (access === undefined) return false;
    const reply = await callGateway(access, "sendPrompt", { agentId, prompt, clientNonce: nonce });
    if (reply.kind === "answered" && reply.status >= 400 && reply.status < 500)
      throw new Error(`${nonce} was refused: ${JSON.stringify(reply.body)}`);
    return reply.kind === "answered" && reply.status === 200;
  };
  await waitUntil(`${nonce} is accepted`, attempt, { deadlineMs: acceptMaxMs, everyMs: 100 });
}

interface Round {
  readonly box: TestBox;
  readonly jobs: readonly Job[];
  readonly findings: Findings;
  readonly tally: Tally;
}

async function checkRound({ box, jobs, findings, tally }: Round): Promise<void> {
  const lines = (await box.exec("sh", "-c", "cat /workspace/effects 2>/dev/null || true")).split("\n");
  const countOf = (effect: string): number => lines.filter((line) => line === effect).length;
  for (const { agentId, nonce } of jobs) {
    const entries = await readTranscript(box, agentId);
    const users = entries.filter((entry) => fieldOf(entry, "clientNonce") === nonce).length;
    findings.expect(users === 1, `${nonce} stands ${users} times in the transcript`);
    for (const letter of ["a", "b", "c"]) {
      const times = countOf(`${nonce}.${letter}`);
      tally.effects += times;
      findings.expect(times <= 1, `${nonce}.${letter} happened ${times} times`);
    }
    const states = toolCalls(entries).map((call) => textOf(fieldOf(call, "status")));
    findings.expect(
      states.length > 0 && states.every((state) => finalStates.includes(state)),
      `the calls of ${nonce} are ${states.join(", ") || "none"}`,
    );
    tally.unknown += states.filter((state) => state === "unknown").length;
    tally.completed += states.filter((state) => state === "completed").length;
    const expected = [["a", "b"], ["c"]].flatMap((letters, at) =>
      states[at] === "completed" ? letters : [],
    );
    for (const letter of expected)
      findings.expect(countOf(`${nonce}.${letter}`) === 1, `${nonce}.${letter} was told as done and isn't`);
  }
}

function waitMs(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
