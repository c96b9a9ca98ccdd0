/**
 * The clients of a sweep: one for each agent, each behaving as a real client does while hosts come and go under it.
 *
 * A prompt is sent under one nonce until it is acknowledged, however many hosts that takes. Only then is it entered as
 * accepted; what a client may never see (a conflict on its own retry, an accepted prompt that isn't found) is entered
 * as a finding.
 */
import { setTimeout as delay } from "node:timers/promises";
import { callGateway, fieldOf, type GatewayAccess, listOf, textOf } from "../gateway-client.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { waitUntil } from "../wait-until.ts";
import type { AcceptedPrompt } from "./sweep-evidence.ts";
import { type PlannedPrompt, textOfPrompt, type WorkPlan } from "./work-plan.ts";

export interface SweepClientsDeps {
  readonly plan: WorkPlan;
  readonly random: SeededRandom;
  /** the host of this moment; `undefined` while there is none */
  readonly access: () => GatewayAccess | undefined;
  /** no new prompt is begun once this is false; those begun are brought to their end */
  readonly wantsMore: () => boolean;
  /** longest time that an agent may stay busy, over all restarts, in `ms`; two minutes when absent */
  readonly idleDeadlineMs?: number;
}

export interface SweepClients {
  readonly accepted: readonly AcceptedPrompt[];
  readonly findings: readonly string[];
  readonly createdAgents: readonly (readonly string[])[];
  /** resolves when every client has stopped sending; rejects when one can't get through at all */
  readonly done: Promise<void>;
}

/** longest time that one prompt may take to be acknowledged, over all restarts */
const acknowledgeDeadlineMs = 60_000;
/** longest time that an agent may stay busy, over all restarts */
const idleDeadlineMs = 120_000;
/** every this-many-th acknowledgement is asked after at once */
const statusChance = 0.3;

export function startSweepClients(deps: SweepClientsDeps): SweepClients {
  const accepted: AcceptedPrompt[] = [];
  const findings: string[] = [];
  const createdAgents: string[][] = deps.plan.agents.map(() => []);
  const book: ClientBook = { accepted, findings };
  const runAgent = async (at: number) => {
    const random = deps.random.fork(`client ${at}`);
    const ids = createdAgents[at] ?? [];
    const agentId = await createAgent(deps, at, ids);
    for (const prompt of deps.plan.prompts.filter((one) => one.agent === at)) {
      if (!deps.wantsMore()) return;
      await sendPrompt(deps, { prompt, agentId, random }, book);
      await follow(deps, { prompt, agentId, random });
    }
  };
  const done = Promise.all(deps.plan.agents.map((_, at) => runAgent(at))).then(() => undefined);
  return { accepted, findings, createdAgents, done };
}

interface ClientBook {
  readonly accepted: AcceptedPrompt[];
  readonly findings: string[];
}

interface ClientTask {
  readonly prompt: PlannedPrompt;
  readonly agentId: string;
  readonly random: SeededRandom;
}

async function createAgent(deps: SweepClientsDeps, at: number, ids: string[]): Promise<string> {
  const planned = deps.plan.agents[at];
  const body = { name: planned?.name, description: "takes part in a sweep", clientNonce: planned?.nonce };
  return waitUntil(
    `agent ${at} to be created`,
    async () => {
      const reply = await callCurrent(deps, "createAgent", body);
      if (reply?.status !== 200) return undefined;
      const id = textOf(fieldOf(fieldOf(reply.body, "agent"), "id"));
      ids.push(id);
      return id;
    },
    { deadlineMs: acknowledgeDeadlineMs, everyMs: 50 },
  );
}

async function sendPrompt(deps: SweepClientsDeps, task: ClientTask, book: ClientBook): Promise<void> {
  const { prompt, agentId } = task;
  const body = {
    agentId,
    prompt: textOfPrompt(prompt),
    clientNonce: prompt.nonce,
    whenBusy: prompt.whenBusy,
  };
  let last = "no host";
  await waitUntil(
    `${prompt.nonce} to be acknowledged`,
    async () => {
      const reply = await callCurrent(deps, "sendPrompt", body);
      if (reply === undefined) return undefined;
      last = `${reply.status} ${JSON.stringify(reply.body)}`;
      if (reply.status !== 200 && reply.status !== 503)
        book.findings.push(`${prompt.nonce} was answered ${last}`);
      return reply.status === 200;
    },
    { deadlineMs: acknowledgeDeadlineMs, everyMs: 50, describe: () => last },
  );
  book.accepted.push({ nonce: prompt.nonce, agentId });
  if (task.random.chance(statusChance)) await askAfter(deps, task, book);
}

/** The very next question after the acknowledgement, whether the same host answers it or the next one. */
async function askAfter(
  deps: SweepClientsDeps,
  { prompt, agentId }: ClientTask,
  book: ClientBook,
): Promise<void> {
  const query = { accountSlot: "host", clientNonce: prompt.nonce, agentId };
  const reply = await callCurrent(deps, "promptAcceptanceStatus", query);
  if (reply?.status !== 200) return;
  const outcome = textOf(fieldOf(reply.body, "outcome"));
  if (outcome !== "found")
    book.findings.push(`${prompt.nonce} was acknowledged and then answered ${outcome}`);
}

async function follow(deps: SweepClientsDeps, task: ClientTask): Promise<void> {
  switch (task.prompt.afterwards) {
    case "wait":
      await waitForIdle(deps, [task.agentId]);
      return;
    case "go-on":
      await delay(task.random.whole(0, 300));
      return;
    case "interrupt":
      await delay(task.random.whole(50, 400));
      await callCurrent(deps, "interruptAgentRun", { id: task.agentId });
      return;
  }
}

/** Idle in two looks in a row, as the contract's clients decide it. */
export async function waitForIdle(
  deps: Pick<SweepClientsDeps, "access" | "idleDeadlineMs">,
  agentIds: readonly string[],
): Promise<void> {
  let idleLooks = 0;
  await waitUntil(
    `${agentIds.join(", ")} to be idle`,
    async () => {
      const running = await findRunning(deps);
      if (running === undefined) return undefined;
      idleLooks = agentIds.some((id) => running.includes(id)) ? 0 : idleLooks + 1;
      return idleLooks >= 2;
    },
    { deadlineMs: deps.idleDeadlineMs ?? idleDeadlineMs, everyMs: 100 },
  );
}

/** The agents that the roster shows as running; `undefined` when nobody answers. */
export async function findRunning(
  deps: Pick<SweepClientsDeps, "access">,
): Promise<readonly string[] | undefined> {
  const reply = await callCurrent(deps, "listAgents", {});
  if (reply?.status !== 200) return undefined;
  return listOf(reply.body)
    .filter((row) => fieldOf(row, "isRunning") === true)
    .map((row) => textOf(fieldOf(row, "id")));
}

async function callCurrent(
  deps: Pick<SweepClientsDeps, "access">,
  command: string,
  body: unknown,
): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
  const access = deps.access();
  if (access === undefined) return undefined;
  const reply = await callGateway(access, command, body);
  return reply.kind === "answered" ? reply : undefined;
}
