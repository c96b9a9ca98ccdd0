/** MCP servers as workloads: real servers from npm, and one that misbehaves on request. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { McpStatus } from "@sand/protocol/exec-mcp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "./daemon-process.ts";
import { codeOf, isAlive, type McpWorld, odd, realServers, startMcpWorld } from "./mcp-world.ts";

const patientMs = 90_000;
let world: McpWorld;
beforeAll(async () => {
  world = await startMcpWorld();
});
afterAll(() => world.dispose());

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

async function stateOf(id: string) {
  const { servers } = await world.mcp.listServers({});
  return servers.find((server) => server.id === id);
}

test(
  "a server is started by its first use, once for all who need it, and says what it is",
  async () => {
    await world.load({ id: "lazy", command: odd() });
    expect((await stateOf("lazy"))?.status).toBe(McpStatus.IDLE);
    const pids = await Promise.all(Array.from({ length: 8 }, () => world.say("lazy", "pid")));
    expect(new Set(pids).size).toBe(1);
    const state = await stateOf("lazy");
    expect(state).toMatchObject({
      status: McpStatus.READY,
      name: "odd",
      version: "1.0",
      generation: 1,
      hasTools: true,
    });
    expect(String(state?.pid)).toBe(pids[0]);
  },
  patientMs,
);

test(
  "the tools, resources and prompts of a real server are listed, called, read and got",
  async () => {
    await world.load({ id: "everything", command: [process.execPath, realServers.everything] });
    const tools = await world.mcp.listTools({});
    const names = tools.servers[0]?.tools.map(({ name }) => name);
    expect(names).toContain("get-sum");
    const sum = tools.servers[0]?.tools.find(({ name }) => name === "get-sum");
    expect(JSON.parse(sum?.inputSchemaJson ?? "")).toMatchObject({ type: "object", required: ["a", "b"] });
    expect(await world.say("everything", "get-sum", { a: 2, b: 3 })).toContain("5");
    const structured = await world.call("everything", "get-structured-content", { location: "Chicago" });
    expect(JSON.parse(structured.structuredJson)).toHaveProperty("temperature");
    const wrong = await world.call("everything", "get-sum", { a: "two" });
    expect(wrong.isError).toBe(true);

    const { resources, templates } = await world.mcp.listResources({ serverId: "everything" });
    expect(resources.length + templates.length).toBeGreaterThan(0);
    const uri = resources[0]?.uri ?? "";
    const read = await world.mcp.readResource({ serverId: "everything", uri });
    expect(JSON.parse(read.contentsJson)[0].uri).toBe(uri);

    const { prompts } = await world.mcp.listPrompts({ serverId: "everything" });
    const name = prompts.find((prompt) => prompt.arguments.length === 0)?.name ?? "";
    const prompt = await world.mcp.getPrompt({ serverId: "everything", name });
    expect(JSON.parse(prompt.messagesJson)[0].role).toBe("user");
    expect(await codeOf(world.mcp.getPrompt({ serverId: "everything", name: "no such" }))).toBe(
      "mcp/refused",
    );
  },
  patientMs,
);

test(
  "a real server works on the files that it was given, and refuses others",
  async () => {
    const { workspace } = world.daemon;
    writeFileSync(join(workspace, "note.txt"), "kept by a server");
    await world.load({ id: "files", command: [process.execPath, realServers.filesystem, workspace] });
    expect(await world.say("files", "read_text_file", { path: join(workspace, "note.txt") })).toBe(
      "kept by a server",
    );
    const outside = await world.call("files", "read_text_file", { path: "/etc/hostname" });
    expect(outside.isError).toBe(true);
  },
  patientMs,
);

test(
  "a start that isn't answered ends at its deadline, and nothing of it is left",
  async () => {
    const pidFile = join(world.daemon.folder, "hanging.pid");
    await world.load({ id: "hangs", command: odd("--hang", `--pid-file=${pidFile}`), startMaxMs: 3000 });
    expect(await codeOf(world.call("hangs", "echo"))).toBe("mcp/timeout");
    expect((await stateOf("hangs"))?.status).toBe(McpStatus.FAILED);
    // A machine that is slow enough doesn't even come as far as starting it.
    if (existsSync(pidFile)) expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(false);
  },
  patientMs,
);

test(
  "a server that never answers initialize delays no other",
  async () => {
    await world.load(
      { id: "hangs", command: odd("--hang"), startMaxMs: 80_000 },
      { id: "works", command: odd() },
    );
    const hanging = codeOf(world.call("hangs", "echo"));
    expect(await world.say("works", "echo", { value: "here" })).toBe("here");
    // It has answered while the other one is still starting.
    expect((await stateOf("hangs"))?.status).toBe(McpStatus.STARTING);
    const { servers } = await world.mcp.listTools({ waitMs: 4000 });
    const rows = Object.fromEntries(servers.map((row) => [row.serverId, row]));
    expect(rows.works?.tools.length).toBeGreaterThan(5);
    expect(rows.hangs).toMatchObject({ failureCode: "mcp/timeout", tools: [] });
    await world.mcp.closeServer({ serverId: "hangs" });
    expect(await hanging).toBeDefined();
  },
  patientMs,
);

test(
  "a server that ends at its start is tried again later, not in a circle, and its last words are kept",
  async () => {
    await world.load(
      { id: "broken", command: odd("--exit-now") },
      { id: "absent", command: ["/no/such/program"] },
    );
    expect(await codeOf(world.call("broken", "echo"))).toBe("mcp/unavailable");
    expect(await codeOf(world.call("broken", "echo"))).toBe("mcp/unavailable");
    expect(await codeOf(world.call("absent", "echo"))).toBe("mcp/unavailable");
    const state = await stateOf("broken");
    expect(state).toMatchObject({ status: McpStatus.FAILED, generation: 1 });
    expect(state?.problem).toContain("status 3");
    const { data } = await world.mcp.readServerLog({ serverId: "broken" });
    expect(Buffer.from(data).toString()).toBe("no good reason\n");
  },
  patientMs,
);

test(
  "a server that dies in the middle fails the call at once, and the next use starts it again",
  async () => {
    await world.load({ id: "mortal", command: odd() });
    await world.say("mortal", "echo", { value: 1 });
    const waits = codeOf(world.call("mortal", "wait", { steps: 1000, everyMs: 1000 }));
    expect(await codeOf(world.call("mortal", "die"))).toBe("mcp/unavailable");
    expect(await waits).toBe("mcp/unavailable");
    expect(await world.say("mortal", "echo", { value: 2 })).toBe("2");
    expect((await stateOf("mortal"))?.generation).toBe(2);
  },
  patientMs,
);

test(
  "a message that is too large ends the server and is said so; the daemon goes on",
  async () => {
    await world.load({ id: "huge", command: odd() });
    const fits = await world.say("huge", "huge", { bytes: 4_000_000 });
    expect(fits.length).toBe(4_000_000);
    expect(await codeOf(world.call("huge", "huge", { bytes: 9_000_000 }))).toBe("mcp/too-large");
    expect(await world.say("huge", "echo", { value: "again" })).toBe("again");
    expect(await codeOf(world.call("huge", "deep", { depth: 200_000 }))).toBe("mcp/malformed");
    expect(await world.say("huge", "echo", { value: "still" })).toBe("still");
  },
  patientMs,
);

test(
  "a flood of notices and requests is slowed down at its source; others are answered meanwhile",
  async () => {
    await world.load({ id: "flood", command: odd() }, { id: "calm", command: odd() });
    await world.say("calm", "echo", { value: 0 });
    const ending = new AbortController();
    const flooding = drain(
      world.mcp.callTool(
        { serverId: "flood", name: "flood", argumentsJson: JSON.stringify({ count: 300_000, tool: true }) },
        { signal: ending.signal },
      ),
    ).then(
      () => "ended",
      () => "given up",
    );
    const answered: number[] = [];
    for (let at = 0; at < 20; at += 1) {
      const beforeMs = performance.now();
      expect(await world.say("calm", "echo", { value: at })).toBe(String(at));
      await world.control.ping({ nonce: String(at) });
      answered.push(performance.now() - beforeMs);
    }
    ending.abort();
    expect(await flooding).toBe("given up");
    // Without the brake each of these would take seconds; on an idle machine each takes a few ms.
    expect(answered.sort((a, b) => a - b)[10]).toBeLessThan(2000);
    expect((await world.mcp.closeServer({ serverId: "flood" })).closed).toBe(true);
  },
  patientMs,
);

test(
  "a server whose output is no protocol is given up; a greeting is passed over",
  async () => {
    await world.load({ id: "greets", command: odd("--greeting") });
    expect(await world.say("greets", "echo", { value: "ok" })).toBe("ok");
    expect(await codeOf(world.call("greets", "junk", { count: 5000 }))).toBe("mcp/malformed");
    const { data } = await world.mcp.readServerLog({ serverId: "greets" });
    expect(Buffer.from(data).toString()).toContain("this is no message");
  },
  patientMs,
);

test(
  "a change of the tools is told, and the next list has it",
  async () => {
    await world.load({ id: "grows", command: odd() });
    await world.mcp.listTools({ serverIds: ["grows"] });
    const ending = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { change } of world.mcp.watchServers({}, { signal: ending.signal })) {
        if (change.case === "listChanged") seen.push(`${change.value.serverId}:${change.value.kind}`);
        if (change.case === "state" && change.value.id === "grows") seen.push("state");
      }
    })().catch(() => undefined);
    await until("the state is told", () => (seen.includes("state") ? true : undefined));
    await world.call("grows", "grow", { name: "new_tool" });
    await until("the change is told", () => (seen.includes("grows:1") ? true : undefined));
    const { servers } = await world.mcp.listTools({ serverIds: ["grows"] });
    expect(servers[0]?.tools.map(({ name }) => name)).toContain("new_tool");
    ending.abort();
    await watching;
  },
  patientMs,
);

test(
  "progress comes as it is made, and a call that is given up is cancelled at the server",
  async () => {
    await world.load({ id: "slow", command: odd() });
    const seen: string[] = [];
    const args = (steps: number) => JSON.stringify({ steps, everyMs: 20 });
    for await (const { event } of world.mcp.callTool({
      serverId: "slow",
      name: "wait",
      argumentsJson: args(4),
    }))
      seen.push(
        event.case === "progress" ? `${event.value.progress}/${event.value.total}` : (event.case ?? ""),
      );
    expect(seen.filter((word) => word !== "keepalive")).toEqual(["1/4", "2/4", "3/4", "4/4", "result"]);

    const ending = new AbortController();
    const call = { serverId: "slow", name: "wait", argumentsJson: args(100_000) };
    const calling = (async () => {
      for await (const { event } of world.mcp.callTool(call, { signal: ending.signal }))
        if (event.case === "progress") ending.abort();
    })();
    await calling.catch(() => undefined);
    await until("the server was told", async () => {
      const { data } = await world.mcp.readServerLog({ serverId: "slow" });
      return Buffer.from(data).toString().includes("cancelled") ? true : undefined;
    });
    expect(await codeOf(world.call("slow", "no such tool"))).toBe("mcp/refused");
  },
  patientMs,
);

test(
  "a call without an answer ends at its deadline",
  async () => {
    await world.load({ id: "late", command: odd(), callMaxMs: 400 });
    await world.say("late", "echo", { value: 1 }).catch(() => undefined);
    // No progress is made in that time, so the deadline isn't moved.
    expect(await codeOf(world.call("late", "wait", { steps: 1, everyMs: 60_000 }))).toBe("mcp/timeout");
  },
  patientMs,
);

test(
  "a list without an end is cut, what is no tool is left out, and a server without tools has none",
  async () => {
    await world.load({ id: "endless", command: odd("--endless") }, { id: "bare", command: odd("--bare") });
    const { servers } = await world.mcp.listTools({});
    const rows = Object.fromEntries(servers.map((row) => [row.serverId, row]));
    expect(rows.endless?.truncated).toBe(true);
    expect(rows.endless?.tools.length).toBe(200);
    expect(rows.bare).toMatchObject({ tools: [], failureCode: "" });
  },
  patientMs,
);

test(
  "a load leaves what is unchanged running and ends what is not there any more",
  async () => {
    await world.load(
      { id: "stays", command: odd() },
      { id: "changes", command: odd() },
      { id: "goes", command: odd() },
    );
    const pids = await Promise.all(["stays", "changes", "goes"].map((id) => world.say(id, "pid")));
    await world.load({ id: "changes", command: odd("--greeting") }, { id: "stays", command: odd() });
    expect(await world.say("stays", "pid")).toBe(pids[0]);
    expect(await world.say("changes", "pid")).not.toBe(pids[1]);
    expect(await codeOf(world.call("goes", "pid"))).toBe("mcp/unknown-server");
    await until("the others are gone", () =>
      pids.slice(1).some((pid) => isAlive(Number(pid))) ? undefined : true,
    );
  },
  patientMs,
);

test(
  "an idle server is closed, and a restart gives a new one",
  async () => {
    await world.load({ id: "idle", command: odd(), idleMaxMs: 300 }, { id: "again", command: odd() });
    const pid = Number(await world.say("idle", "pid"));
    await until("it is gone", () => (isAlive(pid) ? undefined : true));
    await until("it is idle again", async () =>
      (await stateOf("idle"))?.status === McpStatus.IDLE ? true : undefined,
    );
    const first = await world.say("again", "pid");
    const { server } = await world.mcp.restartServer({ serverId: "again" });
    expect(server).toMatchObject({ status: McpStatus.READY, generation: 2 });
    expect(await world.say("again", "pid")).not.toBe(first);
  },
  patientMs,
);

test.each([
  [{ id: "../x", command: odd() }],
  [{ id: "", command: odd() }],
  [{ id: "x".repeat(65), command: odd() }],
  [{ id: "x", command: [] }],
  [{ id: "x", command: ["a\0b"] }],
  [{ id: "x", command: odd(), env: { "A B": "c" } }],
  [{ id: "x", url: "file:///etc/passwd" }],
  [{ id: "x", url: "http://user:word@127.0.0.1/" }],
  [{ id: "x", url: "http://127.0.0.1/", secretHeaders: { "content-length": "s" } }],
])("a configuration that makes no sense is refused: %j", async (server) => {
  expect(await codeOf(world.load(server))).toBe("exec/invalid");
});

test(
  "there can be so many servers, and what is sent is bounded",
  async () => {
    const many = Array.from({ length: 65 }, (_, at) => ({ id: `many-${at}`, command: odd() }));
    expect(await codeOf(world.load(...many))).toBe("exec/too-many");
    await world.load({ id: "bounded", command: odd() });
    const call = (argumentsJson: string, name = "echo") =>
      codeOf(drain(world.mcp.callTool({ serverId: "bounded", name, argumentsJson })));
    expect(await call("[1]")).toBe("exec/invalid");
    expect(await call("{")).toBe("exec/invalid");
    expect(await call("{}", "")).toBe("exec/invalid");
    expect(await call(`{"value":"${"x".repeat(5_000_000)}"}`)).toBe("exec/invalid");
    expect(await codeOf(world.mcp.loadServers({ source: "file", servers: [] }))).toBe("exec/invalid");
    expect(existsSync(world.daemon.dataRoot)).toBe(true);
  },
  patientMs,
);
