/**
 * The work that goes on while a disk is recorded or made to fail: agents are made, renamed and deleted, prompts small
 * and large are sent, turns run with and without tools.
 *
 * Each request carries an id that the answer carries too, so that an answer can be found in what a host sent.
 */
import { callOrFail, fieldOf, type GatewayAccess, listOf, textOf } from "../gateway-client.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { waitUntil } from "../wait-until.ts";

/** what an answer of 200 promises */
export type Promised =
  | { readonly kind: "agent"; readonly agentId: string }
  | { readonly kind: "prompt"; readonly agentId: string; readonly nonce: string }
  | { readonly kind: "name"; readonly agentId: string; readonly name: string }
  | { readonly kind: "deleted"; readonly agentId: string };

export interface DiskLoad {
  /** request id → what its answer promises */
  readonly promised: ReadonlyMap<string, Promised>;
  /** agents that somebody asked to delete, whether it was answered or not */
  readonly deleted: ReadonlySet<string>;
  /** requests that a client may send again under their nonces, in order; those of deleted agents are not among them */
  readonly repeatable: readonly Repeatable[];
}

export interface Repeatable {
  readonly command: "createAgent" | "sendPrompt";
  readonly agentId: string;
  readonly body: object;
}

export interface DiskLoadOptions {
  readonly access: GatewayAccess;
  readonly random: SeededRandom;
  readonly agents: number;
  /** rounds of work for each agent */
  readonly rounds: number;
  /** with tools there must be a daemon */
  readonly withTools: boolean;
}

const idleDeadlineMs = 180_000;
const answerDeadlineMs = 60_000;
/** more than lies in a row of the store, in characters */
const largeChars = 70_000;

export async function runDiskLoad(options: DiskLoadOptions): Promise<DiskLoad> {
  const promised = new Map<string, Promised>();
  const deleted = new Set<string>();
  const sent: Repeatable[] = [];
  const clients = Array.from({ length: options.agents }, (_, at) =>
    runClient({ ...options, random: options.random.fork(`client ${at}`) }, at, { promised, deleted, sent }),
  );
  await Promise.all(clients);
  const repeatable = sent.filter(({ agentId }) => !deleted.has(agentId));
  return { promised, deleted, repeatable };
}

interface Book {
  readonly promised: Map<string, Promised>;
  readonly deleted: Set<string>;
  readonly sent: Repeatable[];
}

async function runClient(options: DiskLoadOptions, at: number, book: Book): Promise<void> {
  const { access, random } = options;
  const label = `${at}-${random.word(6)}`;
  const agentId = await makeAgent(access, `worker-${label}`, book);
  for (let round = 0; round < options.rounds; round += 1) {
    const nonce = `nonce-${label}-${round}`;
    const prompt = promptOf(random, `${label}-${round}`, options.withTools);
    const body = { agentId, prompt, clientNonce: nonce, whenBusy: "queue" };
    book.sent.push({ command: "sendPrompt", agentId, body });
    await callNoted(access, "sendPrompt", body, (id) =>
      book.promised.set(id, { kind: "prompt", agentId, nonce }),
    );
    if (random.chance(0.4)) {
      const name = `name-${label}-${round}`;
      await callNoted(
        access,
        "updateAgent",
        { id: agentId, profile: { name, description: "renamed" } },
        (id) => book.promised.set(id, { kind: "name", agentId, name }),
      );
    }
    if (random.chance(0.6)) await waitForIdle(access, agentId);
  }
  if (at % 2 === 1) await makeAndDelete(access, `gone-${label}`, book);
  await waitForIdle(access, agentId);
}

async function makeAgent(access: GatewayAccess, name: string, book: Book): Promise<string> {
  const body = { name, description: "works on a disk", clientNonce: `create-${name}` };
  const answer = await callNoted(access, "createAgent", body, (id, said) =>
    book.promised.set(id, { kind: "agent", agentId: idOf(said) }),
  );
  book.sent.push({ command: "createAgent", agentId: idOf(answer), body });
  return idOf(answer);
}

const idOf = (answer: unknown): string => textOf(fieldOf(fieldOf(answer, "agent"), "id"));

async function makeAndDelete(access: GatewayAccess, name: string, book: Book): Promise<void> {
  const agentId = await makeAgent(access, name, book);
  book.deleted.add(agentId);
  await callNoted(access, "deleteAgent", { id: agentId }, (id) =>
    book.promised.set(id, { kind: "deleted", agentId }),
  );
}

function promptOf(random: SeededRandom, word: string, withTools: boolean): string {
  if (random.chance(0.15)) return `script:say ${word} ${"x".repeat(largeChars)}`;
  if (withTools && random.chance(0.4)) return `script:run echo ${word}`;
  return `script:say ${word} done`;
}

/** Posts under an id of its own and insists on 200. */
async function callNoted(
  access: GatewayAccess,
  command: string,
  body: unknown,
  note: (requestId: string, answer: unknown) => void,
): Promise<unknown> {
  const requestId = crypto.randomUUID();
  const response = await fetch(`${access.url}/api/${command}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${access.token}`,
      "content-type": "application/json",
      "x-sand-request-id": requestId,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(answerDeadlineMs),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${command} answered ${response.status}: ${text}`);
  const answer: unknown = JSON.parse(text);
  note(requestId, answer);
  return answer;
}

async function waitForIdle(access: GatewayAccess, agentId: string): Promise<void> {
  await waitUntil(
    `${agentId} to be idle`,
    async () => {
      const rows = listOf(await callOrFail(access, "listAgents", {}));
      const own = rows.find((row) => fieldOf(row, "id") === agentId);
      return fieldOf(own, "isRunning") === false;
    },
    { deadlineMs: idleDeadlineMs, everyMs: 50 },
  );
}
