/** Gathers what the checker compares: the gateway's answers, the stores' rows, the logs and the witness files. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { callOrFail, fieldOf, type GatewayAccess, listOf, textOf } from "../gateway-client.ts";
import type { SandWorld } from "../processes/sand-world.ts";
import { countEffects, readLines } from "../side-effect-file.ts";
import { readStores } from "./read-stores.ts";
import type { SweepClients } from "./sweep-clients.ts";
import type { AgentEvidence, ExecutionEvidence, ModelCallEvidence, SweepEvidence } from "./sweep-evidence.ts";
import { type EffectPaths, editAnchor, type WorkPlan } from "./work-plan.ts";

export interface EvidenceSources {
  readonly world: SandWorld;
  readonly access: GatewayAccess;
  readonly plan: WorkPlan;
  readonly clients: SweepClients;
  readonly paths: EffectPaths;
  readonly hasLedger: boolean;
  readonly mayBeUnknown: boolean;
}

/** Everything but the left processes, which are looked for when host and daemon have ended. */
export async function collectEvidence(
  sources: EvidenceSources,
): Promise<Omit<SweepEvidence, "leftProcesses">> {
  const { world, access, plan, clients } = sources;
  const roster = listOf(await callOrFail(access, "listAgents", {}));
  const stores = readStores(world.dataRoot);
  const agents: AgentEvidence[] = [];
  for (const store of stores) {
    const row = roster.find((one) => fieldOf(one, "id") === store.agentId);
    const tail = await callOrFail(access, "getAgentTranscriptTail", { id: store.agentId, limit: 5_000 });
    agents.push({
      ...store,
      isRunning: fieldOf(row, "isRunning") !== false,
      entries: listOf(fieldOf(tail, "entries")).map((entry) =>
        Object.fromEntries(Object.entries(Object(entry))),
      ),
    });
  }
  return {
    mayBeUnknown: sources.mayBeUnknown,
    plan,
    createdAgents: clients.createdAgents,
    accepted: clients.accepted,
    clientFindings: clients.findings,
    statuses: await readStatuses(access, clients),
    agents,
    modelCalls: readLines(world.modelLog).map(readModelCall),
    executions: sources.hasLedger ? readExecutions(world.dataRoot) : undefined,
    effects: readEffects(sources.paths, plan),
  };
}

async function readStatuses(access: GatewayAccess, clients: SweepClients): Promise<Record<string, string>> {
  const statuses: Record<string, string> = {};
  for (const { nonce, agentId } of clients.accepted) {
    const query = { accountSlot: "host", clientNonce: nonce, agentId };
    statuses[nonce] = textOf(fieldOf(await callOrFail(access, "promptAcceptanceStatus", query), "outcome"));
  }
  return statuses;
}

function readModelCall(line: string): ModelCallEvidence {
  const call: unknown = JSON.parse(line);
  return {
    lastUserText: textOf(fieldOf(call, "lastUserText")),
    step: Number(fieldOf(call, "step")),
    violations: listOf(fieldOf(call, "violations")).map(String),
    userTexts: listOf(fieldOf(call, "userTexts")).map(String),
  };
}

function readExecutions(dataRoot: string): readonly ExecutionEvidence[] {
  const folder = join(dataRoot, "executions");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((executionId) => existsSync(join(folder, executionId, "start.json")))
    .map((executionId) => ({ executionId, hasExit: existsSync(join(folder, executionId, "exit.json")) }));
}

function readEffects(paths: EffectPaths, plan: WorkPlan): Record<string, number> {
  const counts = new Map(countEffects(paths.witness));
  for (const agent of plan.agents.keys()) {
    for (const [line, count] of countEffects(paths.editedFile(agent))) {
      if (line !== editAnchor) counts.set(line, (counts.get(line) ?? 0) + count);
    }
  }
  if (existsSync(paths.writtenFolder)) {
    for (const name of readdirSync(paths.writtenFolder)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
