/** The contract's rules for this host (gateway.md §0 to §5), one by one, by a client that shares no code with it. */
import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "@sand/testkit";
import type { ModelScript } from "@sand/testkit/model-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, command, type Door, openStream, post, readDoor, type SeenEvent } from "./strict-client.ts";
import { startTestHost, type TestHost } from "./turn-host.ts";

/** `work` runs a command that waits for a file of the prompt's name; anything else is answered at once */
const script: ModelScript = ({ lastUserText, step }) =>
  lastUserText.startsWith("work ") && step === 0
    ? { calls: [{ name: "Shell", args: { command: waitFor(lastUserText.slice(5)) } }], text: "On it." }
    : { text: `done: ${lastUserText}` };

const waitFor = (file: string) =>
  `touch ${file}.begun; for i in $(seq 800); do [ -e ${file} ] && break; sleep 0.02; done; echo went on`;

let host: TestHost;
let door: Door;
beforeAll(async () => {
  host = await startTestHost({ script });
  door = readDoor(host.dataRoot);
});
afterAll(() => host[Symbol.asyncDispose]());

type Row = Record<string, unknown>;
const isObject = (value: unknown): value is Row => typeof value === "object" && value !== null;

function rowOf(value: unknown): Row {
  if (!isObject(value) || Array.isArray(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value;
}

async function createAgent(name: string): Promise<string> {
  const made = rowOf(await command(door, "createAgent", { name, description: "" }));
  return String(rowOf(made.agent).id);
}

async function summary(agentId: string): Promise<Row> {
  const rows = await command(door, "listAgents");
  if (!Array.isArray(rows)) throw new Error("listAgents is no bare array");
  return rowOf(rows.find((row) => rowOf(row).id === agentId));
}

async function tail(agentId: string): Promise<Row[]> {
  const page = rowOf(await command(door, "getAgentTranscriptTail", { id: agentId }));
  return Array.isArray(page.entries) ? page.entries : [];
}

const go = (file: string) => writeFileSync(join(host.workspace, file), "");
const hasBegun = (file: string) =>
  waitUntil("the command to run", () => existsSync(join(host.workspace, `${file}.begun`)), {
    deadlineMs: 15_000,
  });
const whenIdle = (agentId: string) =>
  waitUntil("two idle looks", async () => (await summary(agentId)).isRunning === false, {
    deadlineMs: 15_000,
  });

/** The stream's story of one agent: entries by kind, rows by whether they say that it runs. */
function storyOf(events: readonly SeenEvent[], agentId: string): string[] {
  return events.flatMap(({ channel, payload }) => {
    if (channel === "transcript" && payload.agentId === agentId)
      return [`${String(payload.type)} ${String(rowOf(payload.entry).kind)}`];
    if (channel === "agent-upserted" && rowOf(payload.agent).id === agentId)
      return [rowOf(payload.agent).isRunning === true ? "running" : "idle"];
    return [];
  });
}

describe("a turn as a strict client sees it", () => {
  test("§0.2, §2: the answer, the user's entry, a running row, calls, the agent's answer, an idle row, and another 2 s later", async () => {
    const agentId = await createAgent("order");
    const stream = await openStream(door);
    expect([stream.status, stream.headers.get("content-type"), stream.headers.get("cache-control")]).toEqual([
      200,
      "text/event-stream",
      "no-cache, no-transform",
    ]);
    const accepted = await command(door, "sendPrompt", { prompt: "work order", agentId, clientNonce: "o-1" });
    expect(accepted).toEqual({ accepted: true });
    // Before anything of the turn could end: the row says that it runs as soon as the answer is there.
    expect(await summary(agentId)).toMatchObject({ isRunning: true, isComposingMessage: true });
    await hasBegun("order");
    go("order");
    const idles = () => storyOf(stream.events, agentId).filter((part) => part === "idle").length;
    await stream.until("the echo of the end", () => idles() >= 2);
    const story = storyOf(stream.events, agentId);
    expect(story.slice(0, 2)).toEqual(["appended message", "running"]);
    // The answer and the end of its turn are two commits, and each says how the agent stands.
    expect(story.slice(-4)).toEqual(["appended send-message", "running", "idle", "idle"]);
    expect(
      story.slice(2, -4).filter((part) => !/^(appended|updated) tool-call$|^running$/u.test(part)),
    ).toEqual([]);
    const mine = stream.events.filter(({ payload }) => JSON.stringify(payload).includes(agentId));
    const lastEntry = mine.findLast(({ channel }) => channel === "transcript");
    const echo = mine.findLast(({ channel }) => channel === "agent-upserted");
    // A client measures with its own clock, from what it has received.
    expect((echo?.atMs ?? 0) - (lastEntry?.atMs ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(stream.faults).toEqual([]);
    stream.close();
  });

  test("§0.2: no row says idle between two turns that follow each other, and the echo waits for the last", async () => {
    const agentId = await createAgent("twice");
    const stream = await openStream(door);
    await command(door, "sendPrompt", { prompt: "work twice", agentId });
    await hasBegun("twice");
    await command(door, "sendPrompt", { prompt: "second", agentId, whenBusy: "queue" });
    go("twice");
    const story = () => storyOf(stream.events, agentId);
    await stream.until("both ends", () => story().filter((part) => part === "idle").length >= 2);
    const answers = story().flatMap((part, index) => (part === "appended send-message" ? [index] : []));
    expect(answers).toHaveLength(2);
    expect(story().indexOf("idle")).toBeGreaterThan(answers[1] ?? 0);
    stream.close();
  });

  test("§0.2: whoever sees an idle row finds the turn's last entry stored", async () => {
    const agentId = await createAgent("stored");
    for (let turn = 1; turn <= 10; turn += 1) {
      await command(door, "sendPrompt", { prompt: `say ${turn}`, agentId });
      await whenIdle(agentId);
      expect((await tail(agentId)).filter((entry) => entry.kind === "send-message")).toHaveLength(turn);
    }
  });

  test("§0.2, §4.1: isRunning and isComposingMessage are booleans in every summary, wherever it comes from", async () => {
    const stream = await openStream(door);
    const agentId = await createAgent("rows");
    await command(door, "sendPrompt", { prompt: "hi", agentId });
    await whenIdle(agentId);
    const profile = { name: "renamed", description: "d" };
    const rows = [
      await summary(agentId),
      rowOf(await command(door, "updateAgent", { id: agentId, profile })),
      ...stream.events.flatMap(({ channel, payload }) =>
        channel === "agent-upserted" ? [rowOf(payload.agent)] : [],
      ),
      ...stream.events.flatMap(({ channel, payload }) =>
        channel === "agents" && Array.isArray(payload.agents) ? payload.agents : [],
      ),
    ];
    expect(rows.length).toBeGreaterThan(4);
    for (const row of rows) {
      expect([typeof row.isRunning, typeof row.isComposingMessage]).toEqual(["boolean", "boolean"]);
      expect([typeof row.id, typeof row.createdAt, typeof row.hasUnread]).toEqual([
        "string",
        "number",
        "boolean",
      ]);
      expect(Array.isArray(row.memberIds) && Array.isArray(row.conversationPartnerIds)).toBe(true);
    }
    stream.close();
  });

  test("§0.4: entries have the contract's shapes, the prompt its text unchanged, and text beside calls is no entry", async () => {
    const agentId = await createAgent("shapes");
    go("shapes");
    const prompt = "work shapes";
    await command(door, "sendPrompt", { prompt, agentId, clientNonce: "shape-1" });
    await whenIdle(agentId);
    const entries = await tail(agentId);
    expect(entries.map((entry) => entry.kind)).toEqual(["message", "tool-call", "send-message"]);
    expect(entries[0]).toMatchObject({ role: "user", content: prompt, clientNonce: "shape-1" });
    expect(entries[1]).toMatchObject({ name: "Shell", status: "completed" });
    for (const name of ["summary", "argsPreview"]) expect(typeof entries[1]?.[name]).toBe("string");
    expect(entries[2]).toMatchObject({ message: { type: "text", content: `done: ${prompt}` } });
    for (const entry of entries)
      expect([typeof entry.id, typeof entry.timestampMs]).toEqual(["string", "number"]);
    expect(new Set(entries.map((entry) => entry.id)).size).toBe(3);
    expect(JSON.stringify(entries)).not.toContain("On it.");
  });
});

describe("nonces", () => {
  test("§0.3, §0.10: what was answered is found, with the digest of the contract's eight fields", async () => {
    const agentId = await createAgent("nonces");
    const sent = { prompt: "hi", agentId, clientNonce: "found-1", isFork: false };
    const extra = {
      traceparent: "x",
      enterEpochMs: 1,
      composedAtMs: 2,
      source: "mobile",
      sessionId: "s",
      metadata: 1,
    };
    await command(door, "sendPrompt", { ...sent, ...extra });
    const status = rowOf(
      await command(door, "promptAcceptanceStatus", { accountSlot: "host", clientNonce: "found-1", agentId }),
    );
    expect(status.outcome).toBe("found");
    // The keys in their order; what was left out stands as nothing, so that a retry may spell it or not.
    const canonical =
      `{"agentId":"${agentId}","attachmentNames":[],"attachmentPaths":[],"directAddressedAcceptance":null,` +
      `"isFork":false,"prompt":"hi","replyToId":null,"richText":null}`;
    expect(status.record).toEqual({
      accountSlot: "host",
      clientNonce: "found-1",
      inputDigest: createHash("sha256").update(canonical).digest("hex"),
      status: "accepted",
      acceptedAtMs: expect.any(Number),
      agentId,
      echoEntryId: (await tail(agentId))[0]?.id,
      rejectionCode: null,
    });
  });

  test("§0.10: a nonce is looked up before the active agent is resolved", async () => {
    const [first, second] = [await createAgent("first"), await createAgent("second")];
    await command(door, "openAgentTail", { id: first });
    await command(door, "sendPrompt", { prompt: "to the active one", clientNonce: "active-1" });
    await command(door, "openAgentTail", { id: second });
    expect(
      await command(door, "sendPrompt", { prompt: "to the active one", clientNonce: "active-1" }),
    ).toEqual({
      accepted: true,
    });
    await whenIdle(first);
    expect([(await tail(first)).length, (await tail(second)).length]).toEqual([2, 0]);
  });

  test("§3.1: one creation under one nonce, also when it is asked for twice at once", async () => {
    const body = { name: "double", description: "", clientNonce: "create-twice" };
    const made = await Promise.all(Array.from({ length: 20 }, () => command(door, "createAgent", body)));
    expect(new Set(made.map((one) => rowOf(rowOf(one).agent).id)).size).toBe(1);
    expect((await post(door, "createAgent", { ...body, name: "other" })).status).toBe(409);
  });
});

describe("requests and answers", () => {
  test("§0.1: the shapes of answers", async () => {
    const made = rowOf(await command(door, "createAgent", { name: "shape", description: "" }));
    expect(Object.keys(made).filter((name) => !["agent", "transcript"].includes(name))).toEqual([]);
    const id = String(rowOf(made.agent).id);
    expect(typeof (await command(door, "countAgents"))).toBe("number");
    expect(rowOf(await command(door, "openAgentTail", { id }))).toEqual({ entries: [] });
    expect(await command(door, "getAsyncTasks", { id })).toEqual([]);
    expect(await command(door, "getSubagents", { id })).toEqual([]);
    expect(await command(door, "interruptAgentRun", { id })).toEqual({ hadActiveRun: false });
    expect(
      await command(door, "updateAgent", { id: "nobody", profile: { name: "n", description: "" } }),
    ).toBeNull();
    const status = rowOf(await command(door, "getHostStatus"));
    expect([typeof status.isBusy, Array.isArray(status.capabilities)]).toEqual(["boolean", true]);
    expect(Object.keys(rowOf(await command(door, "deleteAgents", { ids: [id] })))).toEqual(["transcript"]);
  });

  test.each([
    ["sendPrompt", {}, "prompt"],
    ["createAgent", { description: "" }, "name"],
    ["createAgent", { name: "n" }, "description"],
    ["updateAgent", { id: "x" }, "profile"],
    ["updateAgent", { profile: { name: "n", description: "" } }, "id"],
    ["deleteAgent", {}, "id"],
    ["deleteAgents", {}, "ids"],
    ["getAgentTranscriptTail", {}, "id"],
    ["openAgentTail", {}, "id"],
    ["interruptAgentRun", {}, "id"],
    ["getAsyncTasks", {}, "id"],
    ["getSubagents", {}, "id"],
    ["promptAcceptanceStatus", { clientNonce: "n" }, "accountSlot"],
    ["promptAcceptanceStatus", { accountSlot: "host" }, "clientNonce"],
  ])("§0.6: %s with %j is 400 and names %s", async (name, body, field) => {
    const answer = await post(door, name, body);
    expect(answer.status).toBe(400);
    const { error, failureCode } = rowOf(answer.json());
    expect([typeof failureCode, String(error).includes(field)]).toEqual(["string", true]);
  });

  test("§0.6: unknown fields are ignored, a body may be missing, and an unknown command is 404 by its name", async () => {
    expect(Array.isArray(await command(door, "listAgents", { metadata: { a: 1 }, id: 7 }))).toBe(true);
    expect((await ask(door, { method: "POST", path: "/api/listAgents" })).status).toBe(200);
    const unknown = await post(door, "noSuchCommand");
    expect([unknown.status, rowOf(unknown.json()).error]).toEqual([
      404,
      "unknown gateway method: noSuchCommand",
    ]);
    const later = await post(door, "transcribeAudio");
    expect([404, 501]).toContain(later.status);
  });

  test("§0.7, §0.8, §0.12: health needs no bearer, fits the discovery file, and refuses an origin", async () => {
    const { pid, startedAt } = readDoor(host.dataRoot);
    for (const bearer of [null, "wrong", door.token]) {
      const answer = await ask(door, { path: "/health", bearer });
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ ok: true, pid, startedAt, isBusy: expect.any(Boolean) });
    }
    for (const path of ["/health", "/events", "/api/listAgents"]) {
      const answer = await ask(door, { path, headers: { origin: "http://localhost" } });
      expect([answer.status, rowOf(answer.json()).error]).toEqual([
        403,
        "browser-origin gateway requests are not allowed",
      ]);
    }
    for (const bearer of [null, "wrong"]) {
      const answer = await ask(door, { path: "/events", bearer });
      expect([answer.status, rowOf(answer.json()).error]).toEqual([401, "unauthorized"]);
    }
  });

  test("§1.2, §3.2: an unsafe id is 400, an agent that is gone 404", async () => {
    for (const id of ["../x", "a/b", "a\\b", "..", " a", "a\u0000b"]) {
      expect((await post(door, "getAgentTranscriptTail", { id })).status, id).toBe(400);
      expect((await post(door, "sendPrompt", { prompt: "x", agentId: id })).status, id).toBe(400);
    }
    expect((await post(door, "sendPrompt", { prompt: "x", agentId: "gone" })).status).toBe(404);
  });
});

describe("streams and pages", () => {
  test("§3.3: a transcript is paged by 200, the last page without a cursor, and nothing twice or left out", async () => {
    const agentId = await createAgent("pages");
    await command(door, "sendPrompt", { prompt: "work pages", agentId });
    await hasBegun("pages");
    const numbers = Array.from({ length: 440 }, (_, index) => `line ${index}`);
    for (let at = 0; at < numbers.length; at += 40)
      await Promise.all(
        numbers.slice(at, at + 40).map((prompt) => command(door, "sendPrompt", { prompt, agentId })),
      );
    go("pages");
    await whenIdle(agentId);
    const pages: Row[][] = [];
    let beforeSeq: number | undefined;
    do {
      const cursor = beforeSeq === undefined ? {} : { beforeSeq };
      const page = rowOf(
        await command(door, "getAgentTranscriptTail", { id: agentId, limit: 200, ...cursor }),
      );
      pages.unshift(Array.isArray(page.entries) ? page.entries : []);
      expect(page.nextBeforeSeq === undefined || typeof page.nextBeforeSeq === "number").toBe(true);
      beforeSeq = page.nextBeforeSeq === undefined ? undefined : Number(page.nextBeforeSeq);
    } while (beforeSeq !== undefined);
    expect(pages.map((page) => page.length)).toEqual([43, 200, 200]);
    const all = pages.flat();
    expect(new Set(all.map((entry) => entry.id)).size).toBe(443);
    const said = all.flatMap((entry) => (entry.kind === "message" ? [entry.content] : []));
    expect(new Set(said)).toEqual(new Set(["work pages", ...numbers]));
    expect(all).toEqual(await tail(agentId));
  });

  test("§0.9: a cursor replays what was committed since, numbered, and a strict stream beside it has no number", async () => {
    const agentId = await createAgent("cursor");
    const before = await openStream(door, "/events?since=0");
    await command(door, "sendPrompt", { prompt: "hi", agentId });
    const isAnswer = ({ channel, payload }: SeenEvent) =>
      channel === "transcript" && payload.agentId === agentId && rowOf(payload.entry).kind === "send-message";
    await before.until("the answer", (events) => events.some(isAnswer));
    const ids = before.events.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(ids).toEqual([...new Set(ids)].sort((left, right) => left - right));
    const middle = ids[Math.floor(ids.length / 2)] ?? 0;
    const later = await openStream(door, "/events", { "last-event-id": String(middle) });
    await later.until("the answer again", (events) => events.some(isAnswer));
    const expected = ids.filter((id) => id > middle);
    const got = later.events.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(got.slice(0, expected.length)).toEqual(expected);
    expect([before.faults, later.faults]).toEqual([[], []]);
    before.close();
    later.close();
  });

  test("§0.5: a silent stream says :ping after 15 s", async () => {
    const stream = await openStream(door, "/events?channels=tray");
    await stream.until("a ping", () => stream.comments.includes(":ping"), 17_000);
    expect(stream.events).toEqual([]);
    expect(stream.faults).toEqual([]);
    stream.close();
  });
});

test("§0.3, §0.10, §3.1: acceptances and creations hold over a restart, and the discovery file is gone in between", async () => {
  await using other = await startTestHost({ script });
  const enter = () => readDoor(other.dataRoot);
  const creation = { name: "kept", description: "", clientNonce: "kept-1" };
  const made = rowOf(rowOf(await command(enter(), "createAgent", creation)).agent).id;
  await command(enter(), "sendPrompt", { prompt: "hi", agentId: made, clientNonce: "kept-2" });
  await other.restart();
  expect(rowOf(rowOf(await command(enter(), "createAgent", creation)).agent).id).toBe(made);
  expect((await post(enter(), "createAgent", { ...creation, description: "x" })).status).toBe(409);
  const query = { accountSlot: "host", clientNonce: "kept-2", agentId: made };
  expect(await command(enter(), "promptAcceptanceStatus", query)).toMatchObject({ outcome: "found" });
});
