import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fieldOf, listOf, waitUntil } from "@sand/testkit";
import type { ModelReply, ModelScript } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { startTestHost } from "./turn-host.ts";

const shell = (command: string) => ({ name: "Shell", args: { command } });

function steps(when: string | RegExp, ...replies: ModelReply[]): ModelScript {
  return { rules: [{ when, steps: replies }], otherwise: { text: "ok" } };
}

/** Shell text that waits for a file, so that a test decides when a command goes on. */
const waitFor = (file: string) => `for i in $(seq 400); do [ -e ${file} ] && break; sleep 0.05; done`;

test("INV-1: a prompt leads to a command, its result to the answer, and each step is in the transcript", async () => {
  await using host = await startTestHost({
    script: steps("go", { calls: [shell("echo hello > made.txt; cat made.txt")] }, { text: "I made it." }),
  });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:completed", "answer:I made it."]);
  expect(host.file("made.txt")).toBe("hello\n");
  expect(host.model.violations).toEqual([]);
  expect(host.model.requestCount).toBe(2);
});

test("parallel calls settle each on its own, and a bad one fails alone", async () => {
  const calls = [
    shell("echo a"),
    { name: "Shell", args: '{"command": "echo b"' },
    { name: "Nope", args: {} },
    { name: "ReadFile", args: { path: "missing.txt" } },
  ];
  await using host = await startTestHost({ script: steps("go", { calls }, { text: "done" }) });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual([
    "user:go",
    "tool:Shell:completed",
    "tool:Shell:failed",
    "tool:Nope:failed",
    "tool:ReadFile:failed",
    "answer:done",
  ]);
  expect(host.model.violations).toEqual([]);
});

test("a failed model call is tried again and the retry is visible", async () => {
  const flaky: ModelReply = {
    text: "there",
    firstAttempts: [
      { kind: "status", status: 529 },
      { kind: "cut", atByte: 120 },
    ],
  };
  await using host = await startTestHost({ script: steps("go", flaky) });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil(
    "a retry to show",
    async () => listOf(await host.call("listAgents", {})).some((row) => fieldOf(row, "isRetrying") === true),
    { deadlineMs: 10_000, everyMs: 5 },
  );
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "answer:there"]);
  expect(host.model.requestCount).toBe(3);
});

test("a refused model call ends the turn with a notice, and the next prompt works", async () => {
  await using host = await startTestHost({ script: steps("go", { fault: { kind: "status", status: 401 } }) });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual(["user:go", "notice:inference/unauthorized"]);
  await host.ask(agent, "again");
  expect((await host.lines(agent)).slice(2)).toEqual(["user:again", "answer:ok"]);
  expect(host.model.violations).toEqual([]);
});

test("an interrupt stops the running command, keeps its output, and leaves a history that is accepted", async () => {
  const command = `echo begun; touch begun.txt; ${waitFor("never.txt")}; echo end > end.txt`;
  await using host = await startTestHost({
    script: steps("go", { calls: [shell(command)] }, { text: "done" }),
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the command to run", () => existsSync(join(host.workspace, "begun.txt")), {
    deadlineMs: 15_000,
  });
  expect(await host.call("interruptAgentRun", { id: agent })).toEqual({ hadActiveRun: true });
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:interrupted", "notice:turn/aborted"]);
  expect(await host.call("interruptAgentRun", { id: agent })).toEqual({ hadActiveRun: false });
  await host.ask(agent, "again");
  expect(host.model.violations).toEqual([]);
  expect(existsSync(join(host.workspace, "end.txt"))).toBe(false);
});

test("INV-6: a steering prompt joins the running turn, a queued one gets its own, an interrupting one supersedes", async () => {
  const command = `touch begun.txt; ${waitFor("go-on.txt")}`;
  const script: ModelScript = (seen) => {
    if (seen.lastUserText === "go" && seen.step === 0) return { calls: [shell(command)] };
    return { text: `answer to ${seen.lastUserText}` };
  };
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the command to run", () => existsSync(join(host.workspace, "begun.txt")), {
    deadlineMs: 15_000,
  });
  await host.send(agent, "waits", { whenBusy: "queue" });
  await host.send(agent, "steers", { whenBusy: "steer" });
  writeFileSync(join(host.workspace, "go-on.txt"), "");
  await host.whenIdle(agent);
  expect((await host.lines(agent)).filter((line) => line.startsWith("answer"))).toEqual([
    "answer:answer to steers",
    "answer:answer to waits",
  ]);
  expect(host.model.requestCount).toBe(3);
});

test("an interrupting prompt ends the command and runs next, before prompts that wait", async () => {
  const script: ModelScript = (seen) => {
    if (seen.lastUserText === "go" && seen.step === 0)
      return { calls: [shell(`touch begun.txt; ${waitFor("never.txt")}`)] };
    return { text: `answer to ${seen.lastUserText}` };
  };
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the command to run", () => existsSync(join(host.workspace, "begun.txt")), {
    deadlineMs: 15_000,
  });
  await host.send(agent, "waits", { whenBusy: "queue" });
  await host.send(agent, "now", { whenBusy: "interrupt" });
  await host.whenIdle(agent);
  const lines = await host.lines(agent);
  expect(lines.filter((line) => line.startsWith("tool") || line.startsWith("answer"))).toEqual([
    "tool:Shell:interrupted",
    "answer:answer to now",
    "answer:answer to waits",
  ]);
  expect(host.model.violations).toEqual([]);
});

test("a turn goes on after the host was closed in the middle of a command, and the command runs once", async () => {
  const command = `echo x >> count.txt; touch begun.txt; ${waitFor("go-on.txt")}; echo finished`;
  await using host = await startTestHost({
    script: steps("go", { calls: [shell(command)] }, { text: "done" }),
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the command to run", () => existsSync(join(host.workspace, "begun.txt")), {
    deadlineMs: 15_000,
  });
  await host.restart();
  writeFileSync(join(host.workspace, "go-on.txt"), "");
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:completed", "answer:done"]);
  expect(host.file("count.txt")).toBe("x\n");
});

test("calls of an answer that was cut off at the output limit are not run", async () => {
  const script: ModelScript = (seen) =>
    seen.step === 0 ? { calls: [shell("touch ran.txt")], finish: "length" } : { text: "smaller" };
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:failed", "answer:smaller"]);
  expect(existsSync(join(host.workspace, "ran.txt"))).toBe(false);
});

test("a box that can't be reached is said and ends the turn with its code", async () => {
  await using host = await startTestHost({
    script: steps("go", { text: "never" }),
    env: { SAND_USE_EXISTING_BOX_EXEC_DAEMON: "1", SAND_BOX_EXEC_DAEMON_PORT: "9" },
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the notice", async () => (await host.lines(agent)).includes("notice:box/unavailable"), {
    deadlineMs: 60_000,
  });
  expect(host.model.requestCount).toBe(0);
}, 90_000);

test("a deleted agent ends its turn and command, and its nonce is free again", async () => {
  await using host = await startTestHost({
    script: steps("go", { calls: [shell(`touch begun.txt; ${waitFor("never.txt")}; touch end.txt`)] }),
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go", { clientNonce: "n-1" });
  await waitUntil("the command to run", () => existsSync(join(host.workspace, "begun.txt")), {
    deadlineMs: 15_000,
  });
  await host.call("deleteAgent", { id: agent });
  expect(await host.call("countAgents", {})).toBe(0);
  expect(await host.call("promptAcceptanceStatus", { accountSlot: "host", clientNonce: "n-1" })).toEqual({
    outcome: "not-found",
  });
  expect(await host.status("sendPrompt", { agentId: agent, prompt: "hi" })).toBe(404);
  const other = await host.createAgent("bob");
  await host.ask(other, "hi", { clientNonce: "n-1" });
  expect(await host.lines(other)).toEqual(["user:hi", "answer:ok"]);
});

test("INV-4: a nonce is unique over agents and starts, and found as soon as it was answered", async () => {
  await using host = await startTestHost({ script: { rules: [], otherwise: { text: "ok" } } });
  const [a, b] = [await host.createAgent("ann"), await host.createAgent("bob")];
  await host.ask(a, "hi", { clientNonce: "n-1" });
  const check = async () => {
    expect(await host.status("sendPrompt", { agentId: a, prompt: "hi", clientNonce: "n-1" })).toBe(200);
    expect(await host.status("sendPrompt", { prompt: "hi", clientNonce: "n-1" })).toBe(200);
    expect(await host.status("sendPrompt", { agentId: a, prompt: "other", clientNonce: "n-1" })).toBe(409);
    expect(await host.status("sendPrompt", { agentId: b, prompt: "hi", clientNonce: "n-1" })).toBe(409);
    expect(
      await host.call("promptAcceptanceStatus", { accountSlot: "host", clientNonce: "n-1" }),
    ).toMatchObject({ outcome: "found", record: { agentId: a, clientNonce: "n-1", status: "accepted" } });
  };
  await check();
  await host.restart();
  await check();
  expect(await host.lines(a)).toEqual(["user:hi", "answer:ok"]);
  expect(host.model.requestCount).toBe(1);
});
