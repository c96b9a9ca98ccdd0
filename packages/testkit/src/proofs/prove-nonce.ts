/**
 * Proof of exactly-once prompts: any number of identical posts make one turn and one model call, another payload under
 * the same nonce is a conflict, and an acknowledged prompt is found at every later point, also when the host is killed
 * in the moment of its answer.
 */
import {
  callGateway,
  callOrFail,
  fieldOf,
  type GatewayAccess,
  type GatewayReply,
  textOf,
} from "../gateway-client.ts";
import type { StartedProcess } from "../processes/child-process.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type SandWorld } from "../processes/sand-world.ts";
import { readLines } from "../side-effect-file.ts";
import { readStores } from "../sweep/read-stores.ts";
import { waitForIdle } from "../sweep/sweep-clients.ts";
import { collectFindings, type Findings, type ProofResult } from "./proof-result.ts";

export interface NonceProofOptions {
  readonly bundles: SandBundles;
  /** identical posts at once */
  readonly posts: number;
  /** rounds of "killed in the moment of the answer" */
  readonly kills: number;
}

interface Scene {
  readonly world: SandWorld;
  readonly findings: Findings;
  readonly agentId: string;
  readonly otherAgentId: string;
  access: GatewayAccess;
  host: StartedProcess;
}

const sentText = "script:say once";

export async function proveNonce(options: NonceProofOptions): Promise<ProofResult> {
  await using world = await createWorld({ label: "nonce", bundles: options.bundles, sandbox: "off" });
  await world.startDaemon();
  const { access, process: host } = await world.startHost();
  const findings = collectFindings();
  const scene: Scene = {
    world,
    findings,
    agentId: await createAgent(access, "first"),
    otherAgentId: await createAgent(access, "second"),
    access,
    host,
  };
  await postAtOnce(scene, "nonce-1", options.posts);
  await checkOnce(scene, "nonce-1", 1, 1);
  await checkConflicts(scene, "nonce-1");
  await restart(scene);
  await postAtOnce(scene, "nonce-1", options.posts);
  await checkOnce(scene, "nonce-1", 1, 1);
  await checkConflicts(scene, "nonce-1");
  await killAmongPosts(scene, "nonce-2", options.posts);
  await checkOnce(scene, "nonce-2", 2, null);
  for (let round = 0; round < options.kills; round += 1) await killAtAnswer(scene, `nonce-kill-${round}`);
  await waitForIdle({ access: () => scene.access }, [scene.agentId]);
  const modelCalls = readLines(world.modelLog).length;
  return {
    figures: {
      posts: options.posts * 4,
      turns: readTurns(scene),
      modelCalls,
      killsAtAnswer: options.kills,
      conflictsChecked: (conflicts.length + 1) * 2,
    },
    findings: findings.list,
  };
}

async function createAgent(access: GatewayAccess, name: string): Promise<string> {
  const made = await callOrFail(access, "createAgent", {
    name,
    description: "",
    clientNonce: `create-${name}`,
  });
  return textOf(fieldOf(fieldOf(made, "agent"), "id"));
}

function promptBody(scene: Scene, nonce: string): Readonly<Record<string, unknown>> {
  return { agentId: scene.agentId, prompt: sentText, clientNonce: nonce };
}

async function postAtOnce(scene: Scene, nonce: string, posts: number): Promise<void> {
  const body = promptBody(scene, nonce);
  const replies = await Promise.all(
    Array.from({ length: posts }, () => callGateway(scene.access, "sendPrompt", body)),
  );
  const refused = replies.filter((reply) => !isAccepted(reply));
  scene.findings.expect(
    refused.length === 0,
    `${refused.length} of ${posts} identical posts were refused: ${JSON.stringify(refused[0])}`,
  );
}

function isAccepted(reply: GatewayReply): boolean {
  return reply.kind === "answered" && reply.status === 200 && fieldOf(reply.body, "accepted") === true;
}

async function checkOnce(
  scene: Scene,
  nonce: string,
  turns: number,
  modelCalls: number | null,
): Promise<void> {
  await waitForIdle({ access: () => scene.access }, [scene.agentId]);
  const { findings } = scene;
  const store = readStores(scene.world.dataRoot).find((one) => one.agentId === scene.agentId);
  const rows = store?.prompts.filter((prompt) => prompt.nonce === nonce).length ?? 0;
  findings.expect(rows === 1, `${nonce} has ${rows} rows in the ledger`);
  findings.expect(
    store?.turns.length === turns,
    `there are ${store?.turns.length} turns instead of ${turns}`,
  );
  const calls = readLines(scene.world.modelLog).length;
  findings.expect(
    modelCalls === null || calls === modelCalls,
    `there were ${calls} model calls instead of ${modelCalls}`,
  );
  const tail = await callOrFail(scene.access, "getAgentTranscriptTail", { id: scene.agentId });
  const entries = JSON.stringify(tail).split(`"clientNonce":"${nonce}"`).length - 1;
  findings.expect(entries === 1, `${nonce} has ${entries} entries in the transcript`);
  findings.expect((await readStatus(scene, nonce)) === "found", `${nonce} isn't found`);
}

/** Each field of the digest, changed alone; and fields outside of it, which change nothing. */
const conflicts: readonly Readonly<Record<string, unknown>>[] = [
  { prompt: "script:say twice" },
  { prompt: `${sentText} ` },
  { replyToId: "another" },
  { isFork: true },
  { richText: { type: "doc" } },
  { directAddressedAcceptance: true },
];
const sameInDigest: readonly Readonly<Record<string, unknown>>[] = [
  { source: "mobile" },
  { sessionId: "another" },
  { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
  { composedAtMs: 1, enterEpochMs: 2 },
  { metadata: { unknown: true } },
];

async function checkConflicts(scene: Scene, nonce: string): Promise<void> {
  const { findings } = scene;
  const body = promptBody(scene, nonce);
  for (const change of [...conflicts, { agentId: scene.otherAgentId }]) {
    const reply = await callGateway(scene.access, "sendPrompt", { ...body, ...change });
    const isConflict = reply.kind === "answered" && reply.status === 409;
    findings.expect(
      isConflict,
      `the same nonce with ${JSON.stringify(change)} was answered ${JSON.stringify(reply)}`,
    );
    const code = reply.kind === "answered" ? fieldOf(reply.body, "failureCode") : undefined;
    findings.expect(code === "gateway/nonce-conflict", `a conflict has the code ${String(code)}`);
  }
  for (const change of sameInDigest) {
    const reply = await callGateway(scene.access, "sendPrompt", { ...body, ...change });
    findings.expect(
      isAccepted(reply),
      `${JSON.stringify(change)} made another payload of it: ${JSON.stringify(reply)}`,
    );
  }
}

async function restart(scene: Scene): Promise<void> {
  await scene.host.end();
  await revive(scene);
}

async function revive(scene: Scene): Promise<void> {
  const next = await scene.world.startHost();
  scene.host = next.process;
  scene.access = next.access;
}

/** The host dies while the posts are under way; all of them come again to the next one. */
async function killAmongPosts(scene: Scene, nonce: string, posts: number): Promise<void> {
  const body = promptBody(scene, nonce);
  const first = Promise.withResolvers<void>();
  const replies = Array.from({ length: posts }, async () => {
    await callGateway(scene.access, "sendPrompt", body);
    first.resolve();
  });
  await first.promise;
  await scene.host.end();
  await Promise.all(replies);
  await revive(scene);
  await postAtOnce(scene, nonce, posts);
}

async function killAtAnswer(scene: Scene, nonce: string): Promise<void> {
  const reply = await postAndKill(scene, nonce);
  scene.findings.expect(isAccepted(reply), `${nonce} was answered ${JSON.stringify(reply)}`);
  await scene.host.exited;
  await revive(scene);
  const outcome = await readStatus(scene, nonce);
  scene.findings.expect(
    outcome === "found",
    `${nonce} was acknowledged, the host killed, and then it was ${outcome}`,
  );
}

/** The kill follows in the same turn of the event loop in which the answer's head has come. */
async function postAndKill(scene: Scene, nonce: string): Promise<GatewayReply> {
  const response = await fetch(`${scene.access.url}/api/sendPrompt`, {
    method: "POST",
    headers: { authorization: `Bearer ${scene.access.token}`, "content-type": "application/json" },
    body: JSON.stringify(promptBody(scene, nonce)),
  });
  scene.host.kill("SIGKILL");
  // The head alone says 200; the body may have died with the host.
  const text = await response.text().catch(() => '{"accepted":true}');
  return { kind: "answered", status: response.status, body: JSON.parse(text) };
}

async function readStatus(scene: Scene, nonce: string): Promise<string> {
  const query = { accountSlot: "host", clientNonce: nonce, agentId: scene.agentId };
  return textOf(fieldOf(await callOrFail(scene.access, "promptAcceptanceStatus", query), "outcome"));
}

function readTurns(scene: Scene): number {
  return readStores(scene.world.dataRoot).reduce((sum, store) => sum + store.turns.length, 0);
}
