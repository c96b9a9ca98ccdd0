import { expect, test } from "vitest";
import { type FakeGateway, startFakeGateway } from "./fake-gateway.ts";
import { createTestHome, waitFor } from "./run-sand.ts";

const entry = (fields: Readonly<Record<string, unknown>>) => ({
  type: "appended",
  agentId: "agent-1",
  entry: fields,
});
const answerEntry = { kind: "send-message", id: "e9", message: { type: "text", content: "Done." }, seq: 9 };

function sent(gateway: FakeGateway, command: string): number {
  return gateway.requests.filter((request) => request.command === command).length;
}

/** From now on a prompt starts a turn, as a host's would. */
function runOnPrompt(gateway: FakeGateway): void {
  gateway.answers.set("sendPrompt", () => {
    gateway.isRunning = true;
    return { value: { accepted: true } };
  });
}

function settle(gateway: FakeGateway): void {
  gateway.isRunning = false;
  gateway.pushSummary();
}

test("a followed turn is shown as it streams, and its end ends the program", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  runOnPrompt(gateway);
  const sand = home.start(["send", "main", "work", "--wait"], { env: gateway.env });
  await waitFor("the prompt", () => sent(gateway, "sendPrompt") === 1);
  gateway.push(
    "transcript",
    entry({ kind: "tool-call", id: "e1", name: "Shell", summary: "ls", status: "running", seq: 7 }),
    7,
  );
  gateway.push("turn-delta", {
    type: "tool-output",
    agentId: "agent-1",
    callId: "e1",
    stream: "stdout",
    text: "a.txt\n",
  });
  gateway.push(
    "transcript",
    entry({ kind: "tool-call", id: "e1", name: "Shell", summary: "ls", status: "completed" }),
    8,
  );
  gateway.push("turn-delta", { type: "text", agentId: "agent-1", step: 1, text: "Do" });
  await waitFor("the text", () => sand.stdout().endsWith("Do"));
  gateway.push("transcript", entry(answerEntry), 9);
  settle(gateway);
  expect(await sand.ended).toEqual({
    code: 0,
    stdout: "▸ Shell ls\n  │ a.txt\n  ✓ completed\nDone.\n",
    stderr: "",
  });
});

test("a cut stream is opened again from the last id, and what was missed is shown once", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  runOnPrompt(gateway);
  const sand = home.start(["send", "main", "work", "--wait"], { env: gateway.env });
  await waitFor("the prompt", () => sent(gateway, "sendPrompt") === 1);
  gateway.push(
    "transcript",
    entry({ kind: "notice", id: "e5", level: "info", content: "before", seq: 5 }),
    5,
  );
  await waitFor("the notice", () => sand.stdout().includes("before"));
  gateway.entries.push({ kind: "notice", id: "e5", level: "info", content: "before", seq: 5 }, answerEntry);
  gateway.cut();
  // The turn isn't over: what was missed comes with the new connection, not only at the end.
  await waitFor("what was missed", () => sand.stdout().endsWith("Done.\n"));
  settle(gateway);
  const ran = await sand.ended;
  expect(gateway.streams[1]).toContain("last-event-id=5");
  expect(ran.stdout).toBe("! before\n… the host doesn't answer; waiting for it\n… the host is back\nDone.\n");
});

test("a stream that is refused for good ends the program with the reason", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  gateway.answers.set("/events", { status: 401, value: { error: "unauthorized" } });
  const ran = await home.run(["send", "main", "work", "--wait"], { env: gateway.env });
  expect({ code: ran.code, sent: sent(gateway, "sendPrompt") }).toEqual({ code: 4, sent: 0 });
});

test("an error in the turn is status 1, and a wait that runs out too", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  runOnPrompt(gateway);
  const failing = home.start(["send", "main", "work", "--wait"], { env: gateway.env });
  await waitFor("the prompt", () => sent(gateway, "sendPrompt") === 1);
  gateway.push("transcript", entry({ kind: "notice", id: "e2", level: "error", content: "no model" }), 2);
  settle(gateway);
  expect((await failing.ended).code).toBe(1);
  const late = await home.run(["send", "main", "work", "--wait", "--timeout", "1"], { env: gateway.env });
  expect({ code: late.code, told: late.stderr.includes("isn't over yet") }).toEqual({ code: 1, told: true });
});

test("Ctrl-C interrupts the turn and ends with 130 once it is over; a second one leaves at once", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  runOnPrompt(gateway);
  const patient = home.start(["send", "main", "work", "--wait"], { env: gateway.env });
  await waitFor("the prompt", () => sent(gateway, "sendPrompt") === 1);
  patient.child.kill("SIGINT");
  await waitFor("the interruption", () => sent(gateway, "interruptAgentRun") === 1);
  settle(gateway);
  expect((await patient.ended).code).toBe(130);
  const hasty = home.start(["send", "main", "work", "--wait"], { env: gateway.env });
  await waitFor("the prompt", () => sent(gateway, "sendPrompt") === 2);
  hasty.child.kill("SIGINT");
  await waitFor("the second interruption", () => sent(gateway, "interruptAgentRun") === 2);
  hasty.child.kill("SIGINT");
  expect((await hasty.ended).code).toBe(130);
});

test("each line of a pipe is a prompt of its own, sent when the one before is over", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  runOnPrompt(gateway);
  const sand = home.start(["chat", "main"], { env: gateway.env, input: "one\n\ntwo\n" });
  await waitFor("the first prompt", () => sent(gateway, "sendPrompt") === 1);
  settle(gateway);
  await waitFor("the second prompt", () => sent(gateway, "sendPrompt") === 2);
  settle(gateway);
  const ran = await sand.ended;
  const prompts = gateway.requests
    .filter((one) => one.command === "sendPrompt")
    .map((one) => one.body.prompt);
  expect({ code: ran.code, prompts }).toEqual({ code: 0, prompts: ["one", "two"] });
});

test("chat makes an agent whose name nobody has", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  gateway.answers.set("createAgent", {
    value: { agent: { id: "agent-2", name: "fresh", isRunning: false } },
  });
  const ran = await home.run(["chat", "fresh"], { env: gateway.env, input: "" });
  expect(ran.code).toBe(0);
  expect(gateway.requests.find((one) => one.command === "createAgent")?.body).toMatchObject({
    name: "fresh",
    description: "",
  });
});
