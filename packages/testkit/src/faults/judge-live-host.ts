/** Starts what is shipped on a possible disk and asks it, as a client would, for all that was promised. */
import { callGateway, callOrFail, fieldOf, type GatewayAccess, listOf } from "../gateway-client.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld } from "../processes/sand-world.ts";
import { waitUntil } from "../wait-until.ts";
import type { DiskLoad } from "./disk-load.ts";
import type { DiskState } from "./disk-model.ts";
import { writeState } from "./judge-state.ts";
import type { Promises } from "./promises.ts";

export interface LiveCheck {
  readonly bundles: SandBundles;
  readonly state: DiskState;
  readonly promises: Pick<Promises, "created" | "nonces">;
  readonly load: DiskLoad;
}

/** the machine may be busy; a quiet one needs a second */
const projectedDeadlineMs = 60_000;

export async function judgeLiveHost({
  bundles,
  state,
  promises,
  load,
}: LiveCheck): Promise<readonly string[]> {
  await using world = await createWorld({ label: "state", bundles, sandbox: "off" });
  writeState(state, world.dataRoot);
  await world.startDaemon();
  const { access } = await world.startHost();
  const findings: string[] = [];
  const roster = listOf(await callOrFail(access, "listAgents", {})).map((row) => fieldOf(row, "id"));
  for (const agentId of promises.created) {
    if (!load.deleted.has(agentId) && !roster.includes(agentId)) findings.push(`lost: agent ${agentId}`);
  }
  for (const [nonce, agentId] of promises.nonces) {
    const query = { accountSlot: "host", clientNonce: nonce, agentId };
    const outcome = fieldOf(await callOrFail(access, "promptAcceptanceStatus", query), "outcome");
    if (outcome !== "found") findings.push(`lost: ${nonce} is answered ${String(outcome)}`);
  }
  findings.push(...(await repeatAll(access, load)));
  const projected = await waitUntil(
    "the projections",
    async () => fieldOf(await callOrFail(access, "getSearchStatus", {}), "state") === "ready",
    { deadlineMs: projectedDeadlineMs, everyMs: 100 },
  ).catch(() => false);
  if (!projected) findings.push("the projections don't come back");
  return findings;
}

/** A client that knows of no answer sends again. Whatever the cut left, each request is answered, under the same agent. */
async function repeatAll(access: GatewayAccess, load: DiskLoad): Promise<readonly string[]> {
  const findings: string[] = [];
  const newIds = new Map<string, string>();
  for (const { command, agentId, body } of load.repeatable) {
    // What was cut off before its creation was recorded comes back under another id.
    const aimed = command === "sendPrompt" ? { ...body, agentId: newIds.get(agentId) ?? agentId } : body;
    const reply = await callGateway(access, command, aimed);
    if (reply.kind === "unreachable" || reply.status !== 200) {
      findings.push(`${command} again is answered ${JSON.stringify(reply)}`);
    } else if (command === "createAgent") {
      newIds.set(agentId, String(fieldOf(fieldOf(reply.body, "agent"), "id")));
    }
  }
  return findings;
}
