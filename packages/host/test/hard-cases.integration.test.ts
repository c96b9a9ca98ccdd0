/** What goes wrong in other hosts, on the real one: many calls, circles, overload, damage, a busy store, many agents. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { waitUntil } from "@sand/testkit";
import type { ModelReply, ModelScript } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { startTestHost } from "./turn-host.ts";

const shell = (command: string) => ({ name: "Shell", args: { command } });
const waitFor = (file: string) => `for i in $(seq 400); do [ -e ${file} ] && break; sleep 0.05; done`;

function steps(...replies: ModelReply[]): ModelScript {
  return { rules: [{ when: "go", steps: replies }], otherwise: { text: "ok" } };
}

test("of 27 calls the one that fails and the one that hangs take no other with them, also when the turn is interrupted", async () => {
  const calls = Array.from({ length: 27 }, (_, index) =>
    index === 5
      ? { name: "ReadFile", args: { path: "missing" } }
      : shell(index === 11 ? `touch hangs; ${waitFor("never")}; touch ended` : `echo call-${index}`),
  );
  await using host = await startTestHost({ script: steps({ calls }, { text: "done" }) });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  const settled = async (count: number) =>
    (await host.lines(agent)).filter((line) => /^tool:.*:(completed|failed)$/u.test(line)).length >= count;
  await waitUntil("all but the hanging one", () => settled(26), { deadlineMs: 20_000 });
  await host.call("interruptAgentRun", { id: agent });
  await host.whenIdle(agent);
  const lines = (await host.lines(agent)).filter((line) => line.startsWith("tool:"));
  const expected = calls.map(({ name }, index) => {
    if (index === 5) return `tool:${name}:failed`;
    return `tool:${name}:${index === 11 ? "interrupted" : "completed"}`;
  });
  expect(lines).toEqual(expected);
  await host.ask(agent, "again");
  expect(host.model.violations).toEqual([]);
  expect(existsSync(join(host.workspace, "ended"))).toBe(false);
});

test("a model that asks for the same malformed call again and again is stopped after the third time", async () => {
  const script: ModelScript = (seen) =>
    seen.lastUserText === "go"
      ? { calls: [{ name: "Shell", args: '{"command": "touch ran' }] }
      : { text: "ok" };
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual([
    "user:go",
    "tool:Shell:failed",
    "tool:Shell:failed",
    "tool:Shell:failed",
    "notice:turn/no-progress",
  ]);
  expect([host.model.requestCount, existsSync(join(host.workspace, "ran"))]).toEqual([3, false]);
  await host.ask(agent, "hello");
  expect((await host.lines(agent)).at(-1)).toBe("answer:ok");
  expect(host.model.violations).toEqual([]);
});

test("a provider that stays overloaded ends the turn with its code, after a bounded number of tries", async () => {
  await using host = await startTestHost({ script: steps({ fault: { kind: "status", status: 529 } }) });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual(["user:go", "notice:inference/overloaded"]);
  expect(host.model.requestCount).toBe(5);
});

test("an answer that is interrupted while it streams leaves nothing in the history", async () => {
  await using host = await startTestHost({
    script: steps({ text: "word ".repeat(400), deltaChars: 5, frameDelayMs: 30 }),
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the call", () => host.model.requestCount === 1, { deadlineMs: 10_000 });
  await host.call("interruptAgentRun", { id: agent });
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "notice:turn/aborted"]);
  await host.ask(agent, "again");
  const sent = JSON.stringify(host.model.requests.at(-1)?.body);
  expect([sent.includes('"assistant"'), sent.includes("word")]).toEqual([false, false]);
  expect(host.model.violations).toEqual([]);
});

test("a stream that is cut behind its call runs nothing until the call comes whole", async () => {
  const cut: ModelReply = {
    calls: [shell("echo x >> count")],
    firstAttempts: [
      { kind: "cut", atByte: 500, how: "end" },
      { kind: "cut", atByte: 700 },
    ],
  };
  await using host = await startTestHost({ script: steps(cut, { text: "done" }) });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:completed", "answer:done"]);
  expect([host.file("count"), host.model.requestCount]).toEqual(["x\n", 4]);
});

test("a repetition and a conflict while the turn runs do it no harm, also over a restart", async () => {
  await using host = await startTestHost({
    script: steps({ calls: [shell(`echo x >> count; touch begun; ${waitFor("on")}`)] }, { text: "done" }),
  });
  const agent = await host.createAgent("ann");
  const nonce = { clientNonce: "n-1" };
  await host.send(agent, "go", nonce);
  await waitUntil("the command", () => existsSync(join(host.workspace, "begun")), { deadlineMs: 15_000 });
  const repeatBoth = async () => {
    expect(await host.status("sendPrompt", { agentId: agent, prompt: "go", ...nonce })).toBe(200);
    expect(
      await host.status("sendPrompt", { agentId: agent, prompt: "no", ...nonce, whenBusy: "interrupt" }),
    ).toBe(409);
  };
  await repeatBoth();
  await host.restart();
  await repeatBoth();
  writeFileSync(join(host.workspace, "on"), "");
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:completed", "answer:done"]);
  expect([host.file("count"), host.model.requestCount]).toEqual(["x\n", 2]);
});

test("an agent whose store is damaged is refused with its code; the host starts and the others work", async () => {
  await using host = await startTestHost({ script: steps({ text: "fine" }) });
  const [hurt, well] = [await host.createAgent("hurt"), await host.createAgent("well")];
  await host.ask(hurt, "go");
  await host.restart(() => writeFileSync(join(host.dataRoot, "agents", hurt, "store.db"), "z".repeat(8_192)));
  await host.ask(well, "go");
  expect((await host.lines(well)).at(-1)).toBe("answer:fine");
  expect(await host.status("sendPrompt", { agentId: hurt, prompt: "go" })).toBe(503);
  expect(await host.status("getAgentTranscriptTail", { id: hurt })).toBe(503);
  expect(await host.call("countAgents", {})).toBe(2);
  // It is kept as it is, for whoever can save something of it, until its owner deletes it.
  expect(existsSync(join(host.dataRoot, "agents", hurt, "store.db"))).toBe(true);
  await host.call("deleteAgent", { id: hurt });
  expect(await host.call("countAgents", {})).toBe(1);
});

test("an agent whose store is lost with its turn open isn't shown as running for ever", async () => {
  await using host = await startTestHost({
    script: steps({ calls: [shell(`touch begun; ${waitFor("never")}`)] }),
  });
  const agent = await host.createAgent("hurt");
  await host.send(agent, "go");
  await waitUntil("the command", () => existsSync(join(host.workspace, "begun")), { deadlineMs: 15_000 });
  await host.restart(() =>
    writeFileSync(join(host.dataRoot, "agents", agent, "store.db"), "z".repeat(8_192)),
  );
  await host.whenIdle(agent);
  writeFileSync(join(host.workspace, "never"), "");
});

test("another program that holds an agent's store for a while delays its turn and ends nothing", async () => {
  await using host = await startTestHost({
    script: steps({ calls: [shell(`touch begun; ${waitFor("on")}; echo x >> count`)] }, { text: "done" }),
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the command", () => existsSync(join(host.workspace, "begun")), { deadlineMs: 15_000 });
  const letGo = await holdStore(join(host.dataRoot, "agents", agent, "store.db"));
  writeFileSync(join(host.workspace, "on"), "");
  await waitUntil("the turn to wait", () => host.logLines.some((line) => line.includes('"turn.waits"')), {
    deadlineMs: 15_000,
  });
  expect(await host.call("listAgents", {})).toMatchObject([{ id: agent, isRunning: true }]);
  await letGo();
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:completed", "answer:done"]);
  expect(host.file("count")).toBe("x\n");
});

test("a host with 1,000 agents starts without opening one of them", async () => {
  await using host = await startTestHost({ script: steps({ text: "fine" }) });
  const first = await host.createAgent("one");
  const folders = join(host.dataRoot, "agents");
  await host.restart(() => copyAgents(folders, first, 999));
  await waitUntil("all of them to have a row", () => hasStartedWith(host, 1_000), { deadlineMs: 150_000 });
  await host.restart();
  expect(await host.call("countAgents", {})).toBe(1_000);
  expect(openStores(folders)).toBe(0);
}, 240_000);

test("a host that is restarted before it has read its new agents has all of them", async () => {
  await using host = await startTestHost({ script: steps({ text: "fine" }) });
  const first = await host.createAgent("one");
  const folders = join(host.dataRoot, "agents");
  await host.restart(() => copyAgents(folders, first, 39));
  await host.restart();
  await host.restart();
  expect(await host.call("countAgents", {})).toBe(40);
  await host.restart();
  expect(await host.call("countAgents", {})).toBe(40);
});

/** Agents made by copying: a start finds them by their folders. Each store names its agent, or it would be refused. */
function copyAgents(folders: string, from: string, copies: number): void {
  for (let number = 1; number <= copies; number += 1) {
    const agentId = `copy-${number}`;
    cpSync(join(folders, from), join(folders, agentId), { recursive: true });
    const store = new DatabaseSync(join(folders, agentId, "store.db"));
    store.exec("PRAGMA synchronous = OFF");
    store.prepare("UPDATE owner SET agent_id = ?").run(agentId);
    store.close();
  }
}

function hasStartedWith({ logLines }: { readonly logLines: readonly string[] }, agents: number): boolean {
  return logLines.some((line) => line.includes('"host.started"') && line.includes(`"agents":${agents},`));
}

/** Another process, because locks of one process don't exclude each other. Resolves with how to let go. */
async function holdStore(path: string): Promise<() => Promise<void>> {
  const program = `
    const { DatabaseSync } = require("node:sqlite");
    new DatabaseSync(process.argv[1]).exec("BEGIN IMMEDIATE");
    console.log("held");
    process.stdin.resume().on("end", () => process.exit());`;
  const holder = spawn(process.execPath, ["-e", program, path], { stdio: ["pipe", "pipe", "ignore"] });
  await once(holder.stdout, "data");
  return async () => {
    holder.stdin.end();
    await once(holder, "exit");
  };
}

/** Files below the folder that this process has open. */
function openStores(folder: string): number {
  return readdirSync("/proc/self/fd").filter((fd) => linkOf(fd).startsWith(folder)).length;
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // It was closed meanwhile.
    return "";
  }
}
