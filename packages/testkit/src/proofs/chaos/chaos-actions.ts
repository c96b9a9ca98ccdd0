/** What clients do in a chaos. Each action brings what it began to its end, over any number of daemons. */
import { setTimeout as delay } from "node:timers/promises";
import { fieldOf, listOf, textOf } from "../../gateway-client.ts";
import type { SeededRandom } from "../../seeded-random.ts";
import type { ChaosLedger } from "./chaos-ledger.ts";
import type { DaemonClient } from "./daemon-client.ts";

export interface ChaosStage {
  readonly client: DaemonClient;
  readonly ledger: ChaosLedger;
}

export type ChaosAction = (stage: ChaosStage, random: SeededRandom, id: string) => Promise<void>;

const socketMaxMs = 20_000;
/** a terminal's typed end may have been lost with a daemon; then it is ended by its own request */
const endsWithinMs = 3_000;
const lines = 40;

async function start(stage: ChaosStage, id: string, more: Readonly<Record<string, unknown>>): Promise<void> {
  const reply = await stage.client.insist("Processes/Start", { processId: id, ...more });
  stage.ledger.count("executions");
  stage.ledger.findings.expect(
    reply.status === 200,
    `${id} wasn't started: ${JSON.stringify(reply).slice(0, 300)}`,
  );
}

const runShort: ChaosAction = async (stage, random, id) => {
  const code = random.whole(0, 255);
  const isKilled = random.chance(0.2);
  await start(stage, id, { shell: isKilled ? "kill -KILL $$" : `echo hi; exit ${code}` });
  await stage.ledger.settle(id, isKilled ? { signal: "SIGKILL" } : { code });
};

const runOutOfTime: ChaosAction = async (stage, random, id) => {
  await start(stage, id, { shell: "sleep 300 & sleep 301", killMs: random.whole(50, 600) });
  await stage.ledger.settle(id, { timedOut: true });
};

const runIntoSignal: ChaosAction = async (stage, random, id) => {
  await start(stage, id, { shell: "sleep 300 & sleep 301" });
  await delay(random.whole(0, 400));
  const name = random.pick(["SIGTERM", "SIGKILL"]);
  const scope = random.pick(["SIGNAL_SCOPE_GROUP", "SIGNAL_SCOPE_TREE"]);
  await stage.client.insist("Processes/Signal", { processId: id, name, scope, killAfterMs: 2000 });
  await stage.ledger.settle(id, { signal: name });
};

const attachAndDetach: ChaosAction = async (stage, random, id) => {
  const shell = `i=0; while [ $i -lt ${lines} ]; do echo line $i; i=$((i+1)); sleep 0.02; done; exit 9`;
  await start(stage, id, { shell });
  let [output, seq, isClosed] = ["", 0, false];
  const endMs = Date.now() + socketMaxMs * 6;
  while (!isClosed && Date.now() < endMs) {
    const signal = AbortSignal.timeout(random.whole(20, 500));
    stage.ledger.count("attachments");
    const after = { seq, stdout: output.length };
    await stage.client.follow("Processes/Attach", { processId: id, after }, signal, (message) => {
      const event = fieldOf(message, "event");
      seq = Number(fieldOf(event, "seq") ?? seq);
      const data = fieldOf(fieldOf(event, "output"), "data");
      if (typeof data === "string") output += Buffer.from(data, "base64").toString();
      if (fieldOf(event, "closed") !== undefined) isClosed = true;
    });
    await delay(20);
  }
  const wanted = Array.from({ length: lines }, (_, line) => `line ${line}\n`).join("");
  stage.ledger.findings.expect(output === wanted, `${id}: a reader that came and went got ${output}`);
  await stage.ledger.settle(id, { code: 9 });
};

const feedInput: ChaosAction = async (stage, random, id) => {
  const code = random.whole(1, 99);
  await start(stage, id, { shell: `cat > /dev/null; exit ${code}`, stdin: true });
  await stage.client.call("Processes/Write", { processId: id, offset: 0, data: btoa("x".repeat(2000)) });
  await stage.client.insist("Processes/CloseStdin", { processId: id });
  await stage.ledger.settle(id, { code });
};

const runInSession: ChaosAction = async (stage, random, id) => {
  await stage.client.insist("Shells/Create", { sessionId: id, shell: "bash" });
  stage.ledger.count("session shells");
  for (const at of [1, 2]) {
    const code = random.whole(0, 120);
    const run = { sessionId: id, processId: `${id}-${at}`, command: `V=$((V+1)); (exit ${code})` };
    const reply = await stage.client.insist("Shells/Run", run);
    stage.ledger.count("executions");
    stage.ledger.findings.expect(
      reply.status === 200,
      `${id} doesn't run: ${JSON.stringify(reply).slice(0, 300)}`,
    );
    if (reply.status === 200) await stage.ledger.settle(run.processId, { code });
  }
  await stage.client.insist("Shells/End", { sessionId: id });
};

const watchFolder: ChaosAction = async (stage, random, id) => {
  const watching = stage.client.follow(
    "Files/Watch",
    { path: "", recursive: true },
    AbortSignal.timeout(random.whole(100, 1500)),
    () => stage.ledger.count("watch events"),
  );
  stage.ledger.count("watch streams");
  await stage.client.call("Files/Write", { path: `${id}.txt`, data: btoa(id) });
  await watching;
  await stage.client.call("Files/Remove", { path: `${id}.txt` });
};

const useTerminal: ChaosAction = async (stage, random, id) => {
  const { client, ledger } = stage;
  const argv = ["/bin/sh", "-c", "read line; exit 7"];
  const spawned = await client.plain("POST", "/terminals", { id, argv });
  if (spawned.kind === "gone") return endTerminal(client, id);
  ledger.count("terminals");
  const exits: unknown[] = [];
  const look = async (query: string): Promise<WebSocket | undefined> => {
    ledger.count("terminal clients");
    return open(await client.attach(id, query), exits);
  };
  const writer = await look("cols=80&rows=24");
  const viewer = await look("mode=view");
  const taker = random.chance(0.6) ? await look("takeover=1&cols=100&rows=30") : undefined;
  if (random.chance(0.5)) viewer?.close();
  const typist = taker ?? writer;
  if (random.chance(0.7) && typist?.readyState === WebSocket.OPEN) {
    typist.send(JSON.stringify({ type: "ack", offset: 0 }));
    typist.send(new Uint8Array([0, ...Buffer.from("go\n")]));
    await delay(random.whole(50, endsWithinMs));
  }
  for (const socket of [writer, viewer, taker]) socket?.close();
  for (const code of exits) {
    ledger.count("terminal exits seen");
    ledger.findings.expect(
      code === 7,
      `the terminal ${id} ended with ${JSON.stringify(code)} and not with 7`,
    );
  }
  await endTerminal(client, id);
};

/** Resolves with an open socket that notes the exit that it is told, or with nothing. */
function open(socket: WebSocket | undefined, exits: unknown[]): Promise<WebSocket | undefined> {
  return new Promise((resolve) => {
    if (socket === undefined) {
      resolve(undefined);
      return;
    }
    const timer = setTimeout(() => socket.close(), socketMaxMs);
    socket.onopen = () => {
      clearTimeout(timer);
      resolve(socket);
    };
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return;
      const message: unknown = JSON.parse(data);
      if (fieldOf(message, "type") === "exit") exits.push(fieldOf(message, "code"));
    };
    socket.onerror = () => undefined;
    socket.onclose = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
  });
}

async function endTerminal(client: DaemonClient, id: string): Promise<void> {
  const endMs = Date.now() + socketMaxMs * 6;
  while (Date.now() < endMs) {
    const reply = await client.plain("DELETE", `/terminals/${id}`);
    if (reply.kind === "answered") return;
    await delay(100);
  }
  throw new Error(`the terminal ${id} couldn't be ended`);
}

export const chaosActions: readonly [ChaosAction, ...ChaosAction[]] = [
  ...([runShort, runShort, runOutOfTime, runIntoSignal] as const),
  ...[attachAndDetach, feedInput, runInSession, watchFolder, useTerminal],
];

/** Ends what clients left: terminals and sessions; says what runs all the same. */
export async function endAll({ client, ledger }: ChaosStage): Promise<void> {
  const terminals = await client.plain("GET", "/terminals");
  if (terminals.kind === "answered")
    for (const one of listOf(fieldOf(terminals.body, "terminals")))
      await endTerminal(client, textOf(fieldOf(one, "id")));
  const { body: shells } = await client.insist("Shells/List", {});
  for (const one of listOf(fieldOf(shells, "sessions") ?? []))
    await client.insist("Shells/End", { sessionId: fieldOf(one, "sessionId") });
  const { body } = await client.insist("Processes/List", {});
  for (const one of listOf(fieldOf(body, "executions") ?? [])) {
    const state = fieldOf(one, "state");
    // Its daemon died between the intent and the order; nobody asked for that terminal again, so nothing ever ran.
    if (state === "EXECUTION_STATE_PENDING" && textOf(fieldOf(one, "processId")).startsWith("terminal:")) {
      ledger.count("terminals that never began");
      continue;
    }
    const isOver = state === "EXECUTION_STATE_EXITED" || state === "EXECUTION_STATE_UNKNOWN";
    ledger.findings.expect(isOver, `left running: ${JSON.stringify(one).slice(0, 300)}`);
  }
}
