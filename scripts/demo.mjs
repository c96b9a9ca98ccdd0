/**
 * `npm run demo`: one prompt from start to end, with the host killed in the middle.
 *
 * It shows nothing that it doesn't check. When something isn't as it should be it says what, and ends with status 1.
 * It needs no network, spends no money, and leaves nothing behind.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openEventLog } from "./demo/event-log.mjs";
import { act, Disproved, fail, good, prove, quote, tell } from "./demo/narrate.mjs";
import { kill, setStage, waitUntil } from "./demo/stage.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, "dist", "sand.cjs");
const demoMaxMs = 90_000;
const turnMaxMs = 30_000;
const nonce = "demo-prompt-1";
const ticks = 5;
const command = `echo ran >> counter.txt; for i in ${Array.from({ length: ticks }, (_, i) => i + 1).join(" ")}; do echo "tick $i"; sleep 1; done`;

async function play(stage, log) {
  const first = await openTheHost(stage, log);
  const agent = await showAPrompt(first, log);
  const turn = await startTheLongCommand(first, log, agent);
  await killTheHost(stage, log, first);
  const second = await openAgain(stage, log);
  await seeItSettle(stage, log, second, { agent, turn });
}

async function openTheHost(stage, log) {
  act("A host starts, with an empty data root and the offline model");
  const host = await stage.up();
  tell(`gateway ${host.url}, pid ${host.pid}, sandbox ${host.sandbox}`);
  for (const note of host.notes) tell(`note: ${note}`);
  await log.connect(host);
  good("an event stream is open");
  return host;
}

async function showAPrompt(host, log) {
  act("A prompt goes in, an agent does real work, events come out");
  const { agent } = await call(host, "createAgent", { name: "demo", description: "shows the spine" });
  const stop = narrateTurn(log);
  const prompt = 'write hello from the demo to note.txt, then run `echo "$(cat note.txt), on $(uname -s)"`';
  tell(`sendPrompt: ${prompt}`);
  const answer = await call(host, "sendPrompt", { agentId: agent.id, prompt, clientNonce: "demo-prompt-0" });
  prove(
    answer.accepted === true,
    "accepted: the answer comes when the prompt is on disk, not when the work is done",
    answer,
  );
  await log.waitFor("the first turn's end", settled(), turnMaxMs);
  const said = await log.waitFor("the answer", answerOf(agent), turnMaxMs);
  stop();
  quote(said);
  prove(
    said.includes("hello from the demo") && said.includes("Linux"),
    "the answer holds the command's real output",
    said,
  );
  return agent.id;
}

async function startTheLongCommand(host, log, agentId) {
  act("A command that takes a while");
  const stop = narrateTurn(log);
  const from = log.events.length;
  const prompt = `run: ${command}`;
  tell(`sendPrompt: ${prompt}`);
  await call(host, "sendPrompt", { agentId, prompt, clientNonce: nonce });
  const intent = await log.waitFor(
    "the intent to run it",
    after(log, from, isCheckpoint("toolIntended")),
    turnMaxMs,
  );
  await log.waitFor("its second line", after(log, from, hasOutput("tick 2")), turnMaxMs);
  stop();
  return intent.payload;
}

async function killTheHost(stage, log, host) {
  act("The host is killed with SIGKILL, in the middle of that command");
  kill(host.pid);
  prove(await waitUntil(() => !existsSync(`/proc/${host.pid}`), 5_000), `pid ${host.pid} is gone`);
  prove(counter(stage) === 1, "the command had begun: the counter file has one line", counter(stage));
  tell(`the last event that came through has id ${log.lastId()}`);
}

async function openAgain(stage, log) {
  act("The host is started again; nobody sends anything");
  const stop = narrateTurn(log);
  const host = await stage.up();
  tell(`gateway ${host.url}, pid ${host.pid}`);
  await log.connect(host);
  await log.waitFor("the turn to be resumed", isCheckpoint("turnResumed"), turnMaxMs);
  stop();
  return host;
}

async function seeItSettle(stage, log, host, { agent, turn }) {
  act("That command's result arrives");
  const stop = narrateTurn(log);
  await log.waitFor("the turn's end", settled(turn.turnId), turnMaxMs);
  stop();
  const result = log.events.filter(
    (event) => isCheckpoint("toolSettled")(event) && event.payload.callId === turn.callId,
  );
  prove(result.length === 1 && result[0].payload.outcome === "ok", "one result, and it is in order", result);
  const { entries } = await call(host, "getAgentTranscriptTail", { id: agent });
  const said = entries.at(-1)?.message?.content ?? "";
  quote(said);
  const lines = Array.from({ length: ticks }, (_, i) => `tick ${i + 1}`);
  prove(
    lines.every((line) => said.split(line).length === 2),
    `all ${ticks} lines are there, each once, across the kill`,
    said,
  );
  prove(counter(stage) === 1, "the command ran once: the counter file still has one line", counter(stage));
  await showTheNonce(host, log, agent);
  const ids = log.events.flatMap((event) => (event.seq === null ? [] : [event.seq]));
  prove(
    ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0)),
    `${ids.length} committed events came over two connections, none twice, in order`,
  );
}

async function showTheNonce(host, log, agentId) {
  const prompt = `run: ${command}`;
  const again = await call(host, "sendPrompt", { agentId, prompt, clientNonce: nonce });
  prove(
    again.accepted === true,
    "the same prompt sent again under its nonce is accepted, and starts nothing",
    again,
  );
  const other = await post(host, "sendPrompt", { agentId, prompt: "run: true", clientNonce: nonce });
  prove(other.status === 409, "another prompt under that nonce is a conflict (409)", other);
  const turns = log.events.filter(isCheckpoint("turnStarted")).length;
  prove(turns === 2, "two prompts, two turns", turns);
}

/** Prints checkpoints and output as they arrive, until the returned function is called. */
function narrateTurn(log) {
  let line = "";
  return log.onEvent(({ channel, payload, seq }) => {
    if (channel === "turn") {
      const { type, agentId: _agent, turnId: _turn, generation: _generation, ...facts } = payload;
      const shown = Object.entries(facts).filter(([, value]) => value !== null && String(value).length < 30);
      tell(
        `checkpoint ${String(seq).padStart(3)}  ${type}  ${shown.map(([name, value]) => `${name} ${value}`).join(", ")}`,
      );
    }
    if (channel !== "turn-delta" || payload.type !== "tool-output") return;
    const lines = (line + payload.text).split("\n");
    line = lines.pop() ?? "";
    for (const whole of lines) tell(`output          │ ${whole}`);
  });
}

const isCheckpoint = (type) => (event) => event.channel === "turn" && event.payload.type === type && event;
const settled = (turnId) => (event) =>
  isCheckpoint("turnSettled")(event) && (turnId === undefined || event.payload.turnId === turnId) && event;
const answerOf =
  (agent) =>
  ({ channel, payload }) =>
    channel === "transcript" &&
    payload.agentId === agent.id &&
    payload.entry?.kind === "send-message" &&
    payload.entry.message.content;
const after = (log, from, wanted) => (event) => log.events.indexOf(event) >= from && wanted(event);
const hasOutput = (text) => {
  let seen = "";
  return ({ channel, payload }) => {
    if (channel === "turn-delta" && payload.type === "tool-output") seen += payload.text;
    return seen.includes(text);
  };
};

function counter(stage) {
  return readFileSync(join(stage.workspace, "counter.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "").length;
}

async function post(host, name, body) {
  const response = await fetch(`${host.url}/api/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${host.token}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(turnMaxMs),
  });
  return { status: response.status, body: await response.json() };
}

async function call(host, name, body) {
  const answer = await post(host, name, body);
  if (answer.status !== 200)
    throw new Disproved(`${name} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function main() {
  if (!existsSync(program)) throw new Disproved(`there is no ${program}; build it first: npm run demo does`);
  const stage = setStage(program);
  const log = openEventLog();
  const stopped = new Promise((_, reject) => {
    const stop = (why) => reject(new Disproved(why));
    setTimeout(stop, demoMaxMs, `it took longer than ${demoMaxMs / 1000} s`).unref();
    // A reader that went away is no reason to leave processes behind.
    process.stdout.on("error", () => stop("nobody reads what it says"));
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop(`ended by ${signal}`));
  });
  try {
    await Promise.race([play(stage, log), stopped]);
  } catch (error) {
    fail(error instanceof Disproved ? error.message : String(error.stack ?? error));
    quote(stage.hostLog());
    process.exitCode = 1;
  } finally {
    log.close();
    await stage.clear();
  }
  if (process.exitCode !== 1) {
    act("Done");
    prove(
      stage.survivors().length === 0 && !existsSync(stage.folder),
      "no process and no file is left behind",
    );
    tell("Next: node dist/sand.cjs up, then node dist/sand.cjs chat; see README.md");
  }
}

main().catch((error) => {
  fail(error instanceof Disproved ? error.message : String(error.stack ?? error));
  process.exitCode = 1;
});
