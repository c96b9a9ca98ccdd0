/** The roster and transcript commands over the real host: real stores, a real daemon, a scripted model. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultHostSettings } from "@sand/protocol";
import { fieldOf, listOf, openStream, textOf, waitUntil } from "@sand/testkit";
import type { ModelScript } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

const script: ModelScript = {
  rules: [
    {
      when: "go",
      steps: [
        {
          text: "I look first.",
          reasoning: "a thought that comes in pieces",
          deltaChars: 4,
          frameDelayMs: 5,
          calls: [{ name: "Shell", args: { command: "echo hello" } }],
        },
        { text: "I looked." },
      ],
    },
  ],
  otherwise: { text: "ok" },
};

const idsOf = (entries: unknown) => listOf(entries).map((entry) => textOf(fieldOf(entry, "id")));
/** On a busy machine a daemon that starts slowly is told in a notice, which is nothing to these tests. */
const linesOf = (entries: unknown) => kindsOf(entries).filter((kind) => kind !== "notice");
const kindsOf = (entries: unknown) => listOf(entries).map((entry) => textOf(fieldOf(entry, "kind")));

async function rowOf(host: TestHost, agent: string): Promise<unknown> {
  return listOf(await host.call("listAgents", {})).find((row) => fieldOf(row, "id") === agent);
}

/** The payloads of a channel while `change` runs, when `count` of them have come. */
async function published(
  host: TestHost,
  { channel, count }: { readonly channel: string; readonly count: number },
  change: () => Promise<void>,
): Promise<readonly unknown[]> {
  const session = await openStream(host.access(), { channels: channel });
  try {
    await change();
    await waitUntil(`${count} events`, () => session.frames.length >= count, { deadlineMs: 10_000 });
    return session.frames.map((frame): unknown => JSON.parse(frame.payload));
  } finally {
    session.cut();
  }
}

test("an outline has what was said beside calls and how long the model thought, in order", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  const outline = listOf(await host.call("getConversationOutline", { id: agent }));
  expect(outline).toEqual([
    { kind: "user", id: expect.any(String), text: "go" },
    {
      kind: "thinking",
      id: expect.any(String),
      text: "a thought that comes in pieces",
      durationMs: expect.any(Number),
    },
    { kind: "assistant-text", id: expect.any(String), text: "I look first." },
    { kind: "tool-call", id: expect.any(String), name: "Shell", status: "completed", summary: "echo hello" },
    {
      kind: "send-message",
      id: expect.any(String),
      message: { type: "text", content: "I looked." },
      timestampMs: expect.any(Number),
    },
  ]);
  expect(new Set(idsOf(outline)).size).toBe(5);
  expect(fieldOf(outline[1], "durationMs")).toBeGreaterThan(0);
});

test("an outline of a long conversation finds the steps of every turn in it", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  for (let turn = 0; turn < 4; turn += 1) await host.ask(agent, "go");
  const kinds = kindsOf(await host.call("getConversationOutline", { id: agent }));
  const turn = ["user", "thinking", "assistant-text", "tool-call", "send-message"];
  expect(kinds).toEqual([...turn, ...turn, ...turn, ...turn]);
});

test("a window leaves tool calls out, counts replies, and the thread holds root and replies", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  const [root = ""] = idsOf(await host.entries(agent));
  await host.ask(agent, "more", { replyToId: root });
  const window = await host.call("getAgentTranscriptWindow", { id: agent });
  expect(linesOf(fieldOf(window, "entries"))).toEqual(["message", "send-message", "message", "send-message"]);
  expect(fieldOf(window, "threadCounts")).toEqual({ [root]: 1 });
  expect(fieldOf(window, "nextBeforeSeq")).toBeUndefined();
  const thread = fieldOf(await host.call("getAgentThread", { id: agent, rootId: root }), "entries");
  expect(listOf(thread).map((entry) => fieldOf(entry, "content"))).toEqual(["go", "more"]);
  expect(await host.call("getAgentThread", { id: agent, rootId: "none" })).toEqual({ entries: [] });

  const newest = await host.call("getAgentTranscriptWindow", { id: agent, limit: 3 });
  const beforeSeq = fieldOf(newest, "nextBeforeSeq");
  const rest = await host.call("getAgentTranscriptWindow", { id: agent, limit: 9, beforeSeq });
  expect([...idsOf(fieldOf(rest, "entries")), ...idsOf(fieldOf(newest, "entries"))]).toEqual(
    idsOf(fieldOf(window, "entries")),
  );
});

test("a page holds the entries of its span, and of everything when no span is named", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "one");
  await host.ask(agent, "two");
  const all = await host.entries(agent);
  const page = (more: object) => host.call("getAgentTranscriptPage", { id: agent, limit: 2, ...more });
  const sinceMs = Number(fieldOf(all.at(-2), "timestampMs"));
  expect(idsOf(fieldOf(await page({ limit: 9, sinceMs }), "entries"))).toEqual(idsOf(all.slice(-2)));
  expect(fieldOf(await page({ untilMs: 1 }), "entries")).toEqual([]);
  const newest = await page({});
  expect(fieldOf(newest, "entries")).toEqual(all.slice(-2));
  const older = await page({ limit: 9, beforeSeq: fieldOf(newest, "nextBeforeSeq") });
  expect(older).toEqual({ entries: all.slice(0, -2) });
});

test("opening an agent in any of the three ways makes it active and shows the same entries", async () => {
  await using host = await startTestHost({ script });
  const ann = await host.createAgent("ann");
  const bob = await host.createAgent("bob");
  await host.ask(bob, "hello");
  const entries = await host.entries(bob);
  expect(await host.call("getAgentTranscript", { id: bob })).toEqual(entries);
  expect(fieldOf(await rowOf(host, ann), "isActive")).toBe(true);
  expect(await host.call("openAgent", { id: bob })).toEqual(entries);
  expect(fieldOf(await rowOf(host, bob), "isActive")).toBe(true);
  await host.call("openAgent", { id: ann });
  expect(await host.call("openAgentWindowed", { id: bob, limit: 1 })).toEqual({
    entries: entries.slice(-1),
    nextBeforeSeq: fieldOf(entries.at(-1), "seq"),
  });
  expect(fieldOf(await rowOf(host, bob), "isActive")).toBe(true);
  expect(await host.status("openAgent", { id: "nobody" })).toBe(404);
  expect(fieldOf(await rowOf(host, bob), "isActive")).toBe(true);
});

test("an agent's switches are published, survive a restart, and leave foreign fields of the file alone", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  const file = join(host.dataRoot, "agents", agent, "settings.json");
  writeFileSync(file, '{"somebodyElses":1}');
  const events = await published(host, { channel: "agent-upserted", count: 3 }, async () => {
    expect(await host.call("setAgentHiddenFromSidebar", { id: agent, isHidden: true })).toBeNull();
    expect(await host.call("setAgentNotificationsEnabled", { id: agent, isEnabled: false })).toBeNull();
    expect(await host.call("setAgentNotifyOnUpdates", { id: agent, isEnabled: false })).toBeNull();
  });
  const row = { isHiddenFromSidebar: true, notificationsEnabled: false, notifyOnUpdatesEnabled: false };
  expect(events.map((payload) => fieldOf(fieldOf(payload, "agent"), "isHiddenFromSidebar"))).toEqual([
    true,
    true,
    true,
  ]);
  expect(fieldOf(events.at(-1), "agent")).toMatchObject(row);
  await host.restart();
  expect(await rowOf(host, agent)).toMatchObject(row);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    somebodyElses: 1,
    hiddenFromSidebar: true,
    notificationsEnabled: false,
    notifyOnAgentUpdates: false,
  });
  await host.call("setAgentHiddenFromSidebar", { id: agent, isHidden: false });
  expect(await rowOf(host, agent)).toMatchObject({ ...row, isHiddenFromSidebar: false });
  expect(await host.status("setAgentHiddenFromSidebar", { id: "nobody", isHidden: true })).toBe(404);
});

test("unread is set and taken away; what came in unseen stays counted", async () => {
  await using host = await startTestHost({ script });
  await host.createAgent("active");
  const agent = await host.createAgent("ann");
  await host.ask(agent, "one");
  await host.ask(agent, "two");
  expect(await rowOf(host, agent)).toMatchObject({ hasUnread: true, unreadCount: 2 });
  expect(await host.call("setAgentUnread", { id: agent, isUnread: true })).toBeNull();
  expect(await rowOf(host, agent)).toMatchObject({ hasUnread: true, unreadCount: 2, lastViewedAt: null });
  await host.call("setAgentUnread", { id: agent, isUnread: false, atMs: 1_000 });
  expect(await rowOf(host, agent)).toMatchObject({ hasUnread: false, unreadCount: 0, lastViewedAt: 1_000 });
  await host.call("setAgentUnread", { id: agent, isUnread: true });
  await host.restart();
  expect(await rowOf(host, agent)).toMatchObject({ hasUnread: true, unreadCount: 1, lastViewedAt: 1_000 });
  await host.call("setAgentUnread", { id: agent, isUnread: false, atMs: 9e15 });
  expect(Number(fieldOf(await rowOf(host, agent), "lastViewedAt"))).toBeLessThanOrEqual(Date.now());
});

test("settings change by patch, are published whole, and survive a restart", async () => {
  await using host = await startTestHost({ script });
  expect(await host.call("getHostSettings", {})).toEqual(defaultHostSettings);
  const patch = { notifications: { isEnabled: false }, userTimeZone: "Europe/Berlin", notASetting: 1 };
  const changed = {
    ...defaultHostSettings,
    notifications: { ...defaultHostSettings.notifications, isEnabled: false },
    userTimeZone: "Europe/Berlin",
  };
  const events = await published(host, { channel: "host-settings", count: 1 }, async () => {
    expect(await host.call("setHostSettings", patch)).toEqual(changed);
  });
  expect(events).toEqual([changed]);
  await host.restart();
  expect(await host.call("getHostSettings", {})).toEqual(changed);
  const { userTimeZone: _, ...without } = changed;
  expect(await host.call("setHostSettings", { userTimeZone: null })).toEqual(without);
});

test("patches that come together all hold, and settings that get too large change nothing", async () => {
  await using host = await startTestHost({ script });
  await Promise.all([
    host.call("setHostSettings", { autoReviewInstructions: "careful" }),
    host.call("setHostSettings", { localToolPermission: "never" }),
    host.call("setHostSettings", { pinnedAgentIds: ["a"] }),
  ]);
  const before = await host.call("getHostSettings", {});
  expect(before).toMatchObject({
    autoReviewInstructions: "careful",
    localToolPermission: "never",
    pinnedAgentIds: ["a"],
  });
  const large = { sidebarSections: ["x".repeat(300_000)] };
  expect(await host.status("setHostSettings", large)).toBe(413);
  expect(await host.call("getHostSettings", {})).toEqual(before);
});

test("a damaged settings file gives the defaults and a warning, not a host that doesn't start", async () => {
  await using host = await startTestHost({ script });
  writeFileSync(join(host.dataRoot, "host-settings.json"), "{");
  await host.restart();
  expect(await host.call("getHostSettings", {})).toEqual(defaultHostSettings);
  expect(host.logLines.join("")).toContain("settings.unreadable");
});

test("what isn't built is said to be absent, and the services name what is", async () => {
  await using host = await startTestHost({ script });
  for (const flag of ["isEgressTunnelAvailable", "isAgentNetworkEnabled"])
    expect(await host.call(flag, {})).toBe(false);
  expect(await host.call("isGlobalSearchEnabled", {})).toBe(true);
  const services = await host.call("listGatewayServices", {});
  expect(fieldOf(services, "protocolVersion")).toBe(1);
  expect(fieldOf(services, "methods")).toContain("getAgentThread");
  expect(fieldOf(services, "methods")).not.toContain("createGroup");
});
