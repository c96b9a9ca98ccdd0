/** MCP servers over HTTP: a real one, one that wants a login, one that misbehaves. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { McpStatus } from "@sand/protocol/exec-mcp";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { until } from "./daemon-process.ts";
import { type HttpServer, startHttpServer } from "./mcp-http-server.ts";
import { codeOf, connect, type McpWorld, realServers, startMcpWorld } from "./mcp-world.ts";

const patientMs = 90_000;
const redirectUrl = "http://127.0.0.1:9/back";
let world: McpWorld;
const servers: HttpServer[] = [];

beforeAll(async () => {
  world = await startMcpWorld();
});
afterEach(async () => {
  await world.load();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
afterAll(() => world.dispose());

async function start(options: Parameters<typeof startHttpServer>[0]): Promise<HttpServer> {
  const server = await startHttpServer(options);
  servers.push(server);
  return server;
}

async function logIn(id: string, own: McpWorld = world): Promise<URL> {
  const { authorizationUrl } = await own.mcp.beginLogin({ serverId: id, redirectUrl });
  const url = new URL(authorizationUrl);
  await own.mcp.finishLogin({ serverId: id, code: "the-code", state: url.searchParams.get("state") ?? "" });
  return url;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

test(
  "a real server over streamable HTTP lists, calls and reports progress",
  async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [realServers.everything, "streamableHttp"], {
      env: { PORT: String(port), PATH: process.env.PATH ?? "" },
      stdio: "ignore",
    });
    try {
      await world.load({ id: "everything", url: `http://127.0.0.1:${port}/mcp` });
      await until("it answers", async () => {
        await world.mcp.restartServer({ serverId: "everything" }).catch(() => undefined);
        const [state] = (await world.mcp.listServers({})).servers;
        return state?.status === McpStatus.READY ? true : undefined;
      });
      expect(await world.say("everything", "echo", { message: "hi" })).toBe("Echo: hi");
      const seen: (string | undefined)[] = [];
      const call = { serverId: "everything", name: "trigger-long-running-operation" };
      for await (const { event } of world.mcp.callTool({
        ...call,
        argumentsJson: '{"duration":0.4,"steps":4}',
      }))
        seen.push(event.case);
      expect(seen).toContain("progress");
      expect(seen.at(-1)).toBe("result");
      child.kill("SIGKILL");
      expect(await codeOf(world.call("everything", "echo", { message: "hi" }))).toBe("mcp/unavailable");
    } finally {
      child.kill("SIGKILL");
    }
  },
  patientMs,
);

test(
  "a login is made in two halves, kept for its server alone, and found again after a restart",
  async () => {
    const server = await start({ login: true });
    await world.load({ id: "locked", url: server.url, oauth: {} });
    expect(await codeOf(world.call("locked", "echo"))).toBe("mcp/login-needed");
    expect((await world.mcp.listServers({})).servers[0]?.status).toBe(McpStatus.LOGIN_NEEDED);

    const url = await logIn("locked");
    expect(url.searchParams.get("client_id")).toBe("registered-client");
    expect(url.searchParams.get("code_challenge_method")).toBe("S256");
    expect(url.searchParams.get("redirect_uri")).toBe(redirectUrl);
    expect(await world.say("locked", "echo")).toBe("over http");

    const folder = join(world.daemon.dataRoot, "mcp", "logins");
    const [file = ""] = readdirSync(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, file), "utf8")).toContain(server.refreshToken);

    const again = connect(await restart());
    await again.load({ id: "locked", url: server.url, oauth: {} });
    expect(await again.say("locked", "echo")).toBe("over http");
    // The same id at another place has no login of its own.
    const other = await start({ login: true });
    await again.load({ id: "locked", url: other.url, oauth: {} });
    expect(await codeOf(again.call("locked", "echo"))).toBe("mcp/login-needed");
    expect(other.seen.every(({ authorization }) => authorization === undefined)).toBe(true);
    for (const text of [world.daemon.log(), JSON.stringify(await again.mcp.listServers({}), bigText)])
      for (const secret of [server.accessToken, server.refreshToken]) expect(text).not.toContain(secret);
  },
  patientMs,
);

async function restart() {
  await world.daemon.kill();
  const daemon = await world.daemon.again();
  world = connect(daemon);
  return daemon;
}

function bigText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

test(
  "an old token is renewed once for all who need it, and each refresh token is used once",
  async () => {
    const server = await start({ login: true });
    await world.load({ id: "renews", url: server.url, oauth: {} });
    await logIn("renews");
    await world.say("renews", "echo");
    server.accessToken = "another one now";
    const before = server.tokenRequests.length;
    const said = await Promise.all(Array.from({ length: 6 }, () => world.say("renews", "echo")));
    expect(said).toEqual(Array.from({ length: 6 }, () => "over http"));
    expect(server.tokenRequests.length - before).toBe(1);
  },
  patientMs,
);

test(
  "a token that is about to end is renewed before it is used",
  async () => {
    const server = await start({ login: true, tokenSeconds: 1 });
    await world.load({ id: "short", url: server.url, oauth: {} });
    await logIn("short");
    const refused = server.seen.length;
    expect(await world.say("short", "echo")).toBe("over http");
    expect(server.tokenRequests.some((form) => form.get("grant_type") === "refresh_token")).toBe(true);
    expect(server.seen.slice(refused).every(({ authorization }) => authorization !== undefined)).toBe(true);
  },
  patientMs,
);

test(
  "an authorization server that is down costs no login, one that refuses does",
  async () => {
    const server = await start({ login: true });
    await world.load({ id: "fragile", url: server.url, oauth: {} });
    await logIn("fragile");
    await world.say("fragile", "echo");
    server.accessToken = "another one now";
    server.tokens = "down";
    expect(await codeOf(world.call("fragile", "echo"))).toBe("mcp/unavailable");
    server.tokens = "well";
    expect(await world.say("fragile", "echo")).toBe("over http");
    server.accessToken = "and another one";
    server.tokens = "refused";
    expect(await codeOf(world.call("fragile", "echo"))).toBe("mcp/login-needed");
    server.tokens = "well";
    expect(await codeOf(world.call("fragile", "echo"))).toBe("mcp/login-needed");
    await logIn("fragile");
    expect(await world.say("fragile", "echo")).toBe("over http");
    expect((await world.mcp.forgetLogin({ serverId: "fragile" })).existed).toBe(true);
    expect(await codeOf(world.call("fragile", "echo"))).toBe("mcp/login-needed");
  },
  patientMs,
);

test(
  "a login that can't be made says so in a typed answer, in both of its halves",
  async () => {
    await world.load({ id: "nowhere", url: `http://127.0.0.1:${await freePort()}/mcp`, oauth: {} });
    expect(await codeOf(world.mcp.beginLogin({ serverId: "nowhere", redirectUrl }))).toBe("mcp/unavailable");
    const server = await start({ login: true });
    await world.load({ id: "refusing", url: server.url, oauth: {} }, { id: "open", url: server.url });
    const { authorizationUrl } = await world.mcp.beginLogin({ serverId: "refusing", redirectUrl });
    const state = new URL(authorizationUrl).searchParams.get("state") ?? "";
    const finish = world.mcp.finishLogin({ serverId: "refusing", code: "a-wrong-code", state });
    expect(await codeOf(finish)).toBe("mcp/refused");
    expect(await codeOf(world.mcp.beginLogin({ serverId: "open", redirectUrl }))).toBe("exec/invalid");
  },
  patientMs,
);

test(
  "a login that nobody began, or with another state, is refused",
  async () => {
    const server = await start({ login: true });
    await world.load({ id: "strict", url: server.url, oauth: {} });
    const finish = (state: string) =>
      codeOf(world.mcp.finishLogin({ serverId: "strict", code: "the-code", state }));
    expect(await finish("made up")).toBe("exec/invalid");
    await world.mcp.beginLogin({ serverId: "strict", redirectUrl });
    expect(await finish("made up")).toBe("exec/invalid");
    expect(server.tokenRequests).toEqual([]);
    expect(await codeOf(world.mcp.beginLogin({ serverId: "strict", redirectUrl: "no url" }))).toBe(
      "exec/invalid",
    );
  },
  patientMs,
);

test(
  "a secret header is sent to the server and to nobody else; without it nothing is started",
  async () => {
    const server = await start({ login: false });
    await world.load({ id: "keyed", url: server.url, secretHeaders: { "x-api-key": "KEY" } });
    expect(await codeOf(world.call("keyed", "echo"))).toBe("mcp/unavailable");
    expect(server.seen).toEqual([]);
    await world.control.syncSecrets({ scope: "mcp:keyed", values: { KEY: "planted-header" } });
    expect(await world.say("keyed", "echo")).toBe("over http");
    expect(server.seen.every((headers) => headers["x-api-key"] === "planted-header")).toBe(true);
    expect(world.daemon.log()).not.toContain("planted-header");
  },
  patientMs,
);

test(
  "an answer that is too large or breaks off ends the call at once, and the next one works",
  async () => {
    const server = await start({ login: false });
    await world.load({ id: "odd", url: server.url });
    expect(await world.say("odd", "echo")).toBe("over http");
    server.answers = "huge";
    expect(await codeOf(world.call("odd", "echo"))).toBe("mcp/too-large");
    server.answers = "cut";
    expect(await codeOf(world.call("odd", "echo"))).toBe("mcp/unavailable");
    server.answers = "well";
    expect(await world.say("odd", "echo")).toBe("over http");
  },
  patientMs,
);

test(
  "servers of the settings file are there, what can't be read in it is said, and a change is read on request",
  async () => {
    const path = join(world.daemon.dataRoot, "mcp.json");
    const server = await start({ login: false });
    const write = (mcpServers: object) => writeFileSync(path, JSON.stringify({ mcpServers }));
    write({
      filed: { url: server.url },
      "bad id!": { url: server.url },
      nothing: {},
      off: { url: "x", disabled: true },
    });
    const { servers: listed, problems } = await world.mcp.reloadServers({});
    expect(listed.map(({ id, source }) => `${source}:${id}`)).toEqual(["file:filed"]);
    expect(problems).toHaveLength(2);
    expect(await world.say("filed", "echo")).toBe("over http");
    expect(await codeOf(world.load({ id: "filed", url: server.url }))).toBe("exec/invalid");
    writeFileSync(path, "{");
    expect((await world.mcp.reloadServers({})).problems[0]).toContain("mcp.json");
    write({});
    expect((await world.mcp.reloadServers({})).servers).toEqual([]);
  },
  patientMs,
);
