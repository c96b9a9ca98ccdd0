/** `sand events` and `sand transcript` where a gateway has to be told what to do: gaps, cuts, pages, changes. */
import { expect, test } from "vitest";
import { type FakeGateway, startFakeGateway } from "./fake-gateway.ts";
import { createTestHome, type SandProcess, waitFor } from "./run-sand.ts";

/** for tests that start `sand` several times */
const slowMs = 180_000;

function documents(sand: Pick<SandProcess, "stdout">): readonly Readonly<Record<string, unknown>>[] {
  return sand
    .stdout()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Object(JSON.parse(line)));
}

const notice = (seq: number, content = `notice ${seq}`) => ({
  ...{ kind: "notice", id: `e${seq}`, level: "info", content, seq },
});

/** Serves entries 1 to `count` in pages, as the real gateway does. */
function servePages(gateway: FakeGateway, count: number): void {
  gateway.answers.set("getAgentTranscriptTail", () => {
    const { limit, beforeSeq } = Object(gateway.requests.at(-1)?.body);
    const end = Math.min(count, (beforeSeq ?? count + 1) - 1);
    const start = Math.max(1, end - limit + 1);
    const entries = Array.from({ length: end - start + 1 }, (_unused, at) => notice(start + at));
    return { value: { entries, ...(start > 1 ? { nextBeforeSeq: start } : {}) } };
  });
}

test("events begin with what is new, go on from the last id after a cut, and end at the limit", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  const sand = home.start(["events", "--json", "--channels", "transcript", "-n", "2"], { env: gateway.env });
  await waitFor("the stream", () => gateway.streams.length === 1);
  expect(gateway.streams[0]).toContain(`channels=transcript%2Creset&since=${Number.MAX_SAFE_INTEGER}`);
  gateway.push("reset", { reason: "ahead", lastSeq: 40 }, 40);
  gateway.push("transcript", { type: "cleared", agentId: "agent-1" }, 41);
  await waitFor("the event", () => documents(sand).length === 1);
  gateway.cut();
  await waitFor("the next stream", () => gateway.streams.length === 2);
  expect(gateway.streams[1]).toContain("last-event-id=41");
  gateway.push("reset", { reason: "too-old", lastSeq: 60 }, 60);
  expect(await sand.ended).toMatchObject({ code: 0, stderr: "" });
  expect(documents(sand)).toEqual([
    { id: 41, channel: "transcript", payload: { type: "cleared", agentId: "agent-1" } },
    { id: 60, channel: "reset", payload: { reason: "too-old", lastSeq: 60 } },
  ]);
});

test("events of one agent leave the others out, and a person gets one line for each", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  const sand = home.start(["events", "--agent", "main", "--since", "5", "-n", "1"], { env: gateway.env });
  await waitFor("the stream", () => gateway.streams.length === 1);
  expect(gateway.streams[0]).toContain("since=5");
  expect(gateway.streams[0]).not.toContain("turn-delta");
  gateway.push("agent-upserted", { agent: { id: "agent-2", name: "other", isRunning: true } }, 6);
  gateway.isRunning = true;
  gateway.pushSummary();
  const { stdout } = await sand.ended;
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d {2,}agent-upserted {2}agent-1 {2}main is running\n$/u);
});

test("a channel that isn't there is status 2 and named, and without a host the status is 3 at once", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  const ran = await home.run(["events", "--channels", "transcript,trays"], { env: gateway.env });
  expect({ code: ran.code, told: ran.stderr.includes('"trays"') }).toEqual({ code: 2, told: true });
  const nobody = { SAND_HOST_GATEWAY_URL: "http://127.0.0.1:9" };
  expect((await home.run(["events"], { env: nobody })).code).toBe(3);
});

test("a whole transcript comes oldest first, over as many pages as there are, without a repetition", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  servePages(gateway, 901);
  const ran = await home.run(["transcript", "main", "--all", "--json"], { env: gateway.env });
  const seqs = documents({ stdout: () => ran.stdout }).map((entry) => entry.seq);
  expect(seqs).toEqual(Array.from({ length: 901 }, (_unused, at) => at + 1));
});

test("the newest entries say how to get older ones", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  servePages(gateway, 10);
  const ran = await home.run(["transcript", "main", "-n", "2", "--before", "9"], { env: gateway.env });
  expect(ran.stdout).toBe("… there is more: --before 7, or --all\n! notice 7\n! notice 8\n");
});

test("a followed transcript shows additions and changes once, and fills a gap from the pages", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  servePages(gateway, 3);
  const sand = home.start(["transcript", "main", "-f", "-n", "1", "--json"], { env: gateway.env });
  await waitFor("the stream", () => gateway.streams.length === 1);
  expect(gateway.streams[0]).toContain("since=3");
  const change = (entry: unknown, agentId = "agent-1") => ({ type: "updated", agentId, entry });
  gateway.push("transcript", change(notice(3)), 4);
  gateway.push("transcript", change(notice(9), "agent-2"), 5);
  gateway.push("transcript", change(notice(3, "changed")), 6);
  await waitFor("the change", () => documents(sand).length === 2);
  servePages(gateway, 5);
  gateway.push("reset", { reason: "too-old", lastSeq: 20 }, 20);
  await waitFor("what was missed", () => documents(sand).some((entry) => entry.seq === 5));
  sand.child.kill("SIGTERM");
  await sand.ended;
  expect(documents(sand).map((entry) => entry.content)).toEqual([
    "notice 3",
    "changed",
    "notice 3",
    "notice 4",
    "notice 5",
  ]);
});

test("a followed transcript is read by a person as it streams, and an outage is told", async () => {
  await using gateway = await startFakeGateway();
  using home = createTestHome();
  servePages(gateway, 1);
  const sand = home.start(["transcript", "main", "--follow"], { env: gateway.env });
  await waitFor("the stream", () => gateway.streams.length === 1);
  gateway.push("turn-delta", { type: "text", agentId: "agent-1", step: 1, text: "Hel" });
  await waitFor("the text", () => sand.stdout().endsWith("Hel"));
  gateway.cut();
  await waitFor("the next stream", () => gateway.streams.length === 2);
  const answer = { kind: "send-message", id: "a", message: { type: "text", content: "Hello." }, seq: 2 };
  gateway.push("transcript", { type: "appended", agentId: "agent-1", entry: answer }, 2);
  await waitFor("the answer", () => sand.stdout().endsWith("lo.\n"));
  sand.child.kill("SIGTERM");
  expect((await sand.ended).stdout).toBe(
    "! notice 1\nHel\n… the host doesn't answer; waiting for it\n… the host is back\nlo.\n",
  );
});

const changes = [
  [["rename", "main", "first"], "updateAgent", { profile: { name: "first", description: "" } }],
  [
    ["update", "main", "--title", "T"],
    "updateAgent",
    { profile: { name: "main", description: "", title: "T" } },
  ],
  [["open", "main"], "openAgentTail", { limit: 1 }],
  [["read", "main"], "setAgentUnread", { isUnread: false }],
  [["unread", "main"], "setAgentUnread", { isUnread: true }],
  [["hide", "main"], "setAgentHiddenFromSidebar", { isHidden: true }],
  [["unhide", "main"], "setAgentHiddenFromSidebar", { isHidden: false }],
  [["notifications", "main", "off"], "setAgentNotificationsEnabled", { isEnabled: false }],
  [["notifications", "main", "on", "--updates"], "setAgentNotifyOnUpdates", { isEnabled: true }],
] as const;
test(
  "each change of an agent is its command of the gateway, and prints the agent as it is then",
  async () => {
    await using gateway = await startFakeGateway();
    using home = createTestHome();
    for (const [words, command, body] of changes) {
      const ran = await home.run(["agents", ...words, "--json"], { env: gateway.env });
      expect({ code: ran.code, agent: Object(JSON.parse(ran.stdout)).id }).toEqual({
        code: 0,
        agent: "agent-1",
      });
      const sent = gateway.requests.findLast((request) => request.command !== "listAgents");
      expect([sent?.command, sent?.body]).toEqual([command, { id: "agent-1", ...body }]);
    }
  },
  slowMs,
);

test(
  "an action that isn't there, one with too few words, and one that changes nothing are status 2",
  async () => {
    await using gateway = await startFakeGateway();
    using home = createTestHome();
    for (const words of [
      ["frob"],
      ["show"],
      ["update", "main"],
      ["notifications", "main", "maybe"],
      ["list", "x"],
    ])
      expect((await home.run(["agents", ...words], { env: gateway.env })).code).toBe(2);
    expect(gateway.requests.every((request) => request.command === "listAgents")).toBe(true);
  },
  slowMs,
);
