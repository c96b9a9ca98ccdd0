import { expect, test } from "vitest";
import { type FakeAnswer, startFakeGateway } from "./fake-gateway.ts";
import { createTestHome } from "./run-sand.ts";

const refusals: readonly (readonly [string, FakeAnswer, number])[] = [
  [
    "a malformed request",
    { status: 400, value: { error: "prompt is missing", failureCode: "gateway/bad-request" } },
    2,
  ],
  ["a wrong token", { status: 401, value: { error: "unauthorized" } }, 4],
  ["a forbidden request", { status: 403, value: { error: "untrusted gateway host" } }, 4],
  [
    "a nonce of another prompt",
    { status: 409, value: { error: "conflict", failureCode: "gateway/nonce-conflict" } },
    5,
  ],
  [
    "an agent that isn't there",
    { status: 404, value: { error: "gone", failureCode: "gateway/agent-not-found" } },
    6,
  ],
  [
    "a command that isn't built",
    { status: 501, value: { error: "later", failureCode: "gateway/not-implemented" } },
    7,
  ],
];
test.each(refusals)(
  "%s ends with its documented status and the gateway's words",
  async (_name, refusal, code) => {
    await using gateway = await startFakeGateway();
    using home = createTestHome();
    gateway.answers.set("sendPrompt", refusal);
    const ran = await home.run(["send", "main", "hello"], { env: gateway.env });
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" });
    expect(ran.stderr).toContain(Object(refusal.value).error);
    // None of these would end otherwise at another try.
    expect(gateway.requests.filter((request) => request.command === "sendPrompt").length).toBe(1);
  },
);

test("no host at all is status 3, with the way to start one", async () => {
  using home = createTestHome();
  for (const words of [["status"], ["send", "main", "x"], ["chat"], ["agents"]]) {
    const ran = await home.run(words);
    expect({ code: ran.code, told: ran.stderr.includes("sand up") }).toEqual({ code: 3, told: true });
  }
});

test("an agent that nobody has is status 6 before anything is sent", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  const ran = await home.run(["send", "nobody", "hello"], { env: gateway.env });
  expect(ran.code).toBe(6);
  expect(gateway.requests.map((request) => request.command)).toEqual(["listAgents"]);
});

test("wrong arguments are status 2 and name the help", async () => {
  using home = createTestHome();
  for (const words of [
    ["send", "main"],
    ["up", "--port", "x"],
    // Clients refuse that port, so nobody could reach the host.
    ["up", "--port", "6000"],
    ["send", "a", "b", "--when-busy", "wait"],
    ["frobnicate"],
  ]) {
    const ran = await home.run(words);
    expect({ words, code: ran.code }).toEqual({ words, code: 2 });
  }
});

test("with --json an error is one JSON document on standard error", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  gateway.answers.set("sendPrompt", {
    status: 409,
    value: { error: "conflict", failureCode: "gateway/nonce-conflict" },
  });
  const ran = await home.run(["send", "main", "hello", "--json"], { env: gateway.env });
  expect(ran.stdout).toBe("");
  expect(JSON.parse(ran.stderr)).toEqual({
    error: "conflict",
    failureCode: "gateway/nonce-conflict",
    exitCode: 5,
  });
});

test("an acceptance is printed with its nonce, and colours only where a person looks", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  const ran = await home.run(["send", "main", "hello", "--nonce", "n-1", "--when-busy", "queue"], {
    env: gateway.env,
  });
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({
    code: 0,
    stdout: "Accepted by main under the nonce n-1.\n",
  });
  expect(gateway.requests.at(-1)).toEqual({
    command: "sendPrompt",
    authorization: "Bearer fake-token",
    body: { agentId: "agent-1", prompt: "hello", clientNonce: "n-1", whenBusy: "queue" },
  });
});

test("an answer that the host lost is asked for again under the same nonce", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  let failures = 0;
  gateway.answers.set("sendPrompt", () => {
    failures += 1;
    return failures < 3
      ? { status: 503, value: { error: "shutting down", failureCode: "host/shutting-down" } }
      : { value: { accepted: true } };
  });
  const ran = await home.run(["send", "main", "hello"], { env: gateway.env });
  const nonces = gateway.requests
    .filter((one) => one.command === "sendPrompt")
    .map((one) => one.body.clientNonce);
  expect({ code: ran.code, tries: nonces.length, different: new Set(nonces).size }).toEqual({
    code: 0,
    tries: 3,
    different: 1,
  });
});
