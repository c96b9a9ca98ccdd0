/** What a server is started with: its own variables and secrets, and nothing of the daemon's or of another server's. */
import { randomUUID } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { gather, shell, token } from "./daemon-process.ts";
import { codeOf, connect, type McpWorld, oddServer, startMcpWorld } from "./mcp-world.ts";

const patientMs = 90_000;
/** a word that no other program of this machine can have */
const word = `planted-${randomUUID()}`;
const planted = `${word}'s "odd" $(signs) \`here\`\nand lines`;
let world: McpWorld | undefined;
afterEach(async () => {
  await world?.dispose();
  world = undefined;
});

async function startWorld(env: Record<string, string>): Promise<McpWorld> {
  const own = await startMcpWorld(env);
  world = own;
  copyFileSync(oddServer, join(own.daemon.workspace, "odd.mjs"));
  return own;
}

const command = [process.execPath, "odd.mjs"];

function readAll(file: "cmdline" | "environ"): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid);
  return pids.map((pid) => readOrNothing(`/proc/${pid}/${file}`)).join("\0");
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

test.each(["off", "required"])(
  "a server gets its secrets whole, and no other sees them (sandbox %s)",
  async (sandbox) => {
    const own = await startWorld({ SAND_SANDBOX: sandbox, SECRET_OF_THE_DAEMON: "not for servers" });
    const secretEnv = { API_KEY: "KEY" };
    await own.load({ id: "keyed", command, env: { PLAIN: "p" }, secretEnv }, { id: "other", command });
    expect(await codeOf(own.call("keyed", "env"))).toBe("mcp/unavailable");
    await own.control.syncSecrets({ scope: "mcp:keyed", values: { KEY: planted, UNUSED: "not asked for" } });
    const { env, argv } = JSON.parse(await own.say("keyed", "env"));
    expect(env).toMatchObject({ API_KEY: planted, PLAIN: "p", LANG: "C.UTF-8" });
    expect(argv.join(" ")).not.toContain(word);
    const other = await own.say("other", "env");
    for (const text of [JSON.stringify(env), other]) {
      expect(text).not.toContain("not for servers");
      expect(text).not.toContain("not asked for");
      expect(text).not.toContain(token);
    }
    expect(other).not.toContain(word);
    expect(readAll("cmdline").includes(word)).toBe(false);
    // The server has it, and nobody else: not the sandbox around it, nor the daemon.
    const holders = readAll("environ").split(word).length - 1;
    expect(holders).toBe(1);
    const shown = JSON.stringify(await own.mcp.listServers({}), (_key, value) =>
      typeof value === "bigint" ? "" : value,
    );
    expect(own.daemon.log() + shown).not.toContain(word);
  },
  patientMs,
);

test(
  "other secrets than before take effect with the next use",
  async () => {
    const own = await startWorld({});
    await own.load({ id: "keyed", command, secretEnv: { API_KEY: "KEY" } });
    await own.control.syncSecrets({ scope: "mcp:keyed", values: { KEY: "one" } });
    const first = await own.say("keyed", "pid");
    await own.control.syncSecrets({ scope: "mcp:keyed", values: { KEY: "one" } });
    expect(await own.say("keyed", "pid")).toBe(first);
    await own.control.syncSecrets({ scope: "mcp:keyed", values: { KEY: "two" } });
    expect(JSON.parse(await own.say("keyed", "env")).env.API_KEY).toBe("two");
  },
  patientMs,
);

test(
  "where a sandbox is required and missing, no server is started",
  async () => {
    const own = await startWorld({ SAND_SANDBOX: "required", PATH: "/nowhere" });
    await own.load({ id: "refused", command });
    expect(await codeOf(own.call("refused", "pid"))).toBe("exec/sandbox-unavailable");
  },
  patientMs,
);

test(
  "in a sandbox a server sees neither the data root nor other processes, and writes to the workspace alone",
  async () => {
    const own = await startWorld({ SAND_SANDBOX: "required" });
    const script = `
    const fs = require("node:fs");
    const attempt = (what) => { try { return what(); } catch (error) { return error.code; } };
    const found = {
      data: attempt(() => fs.readdirSync(${JSON.stringify(own.daemon.dataRoot)})),
      pids: fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length,
      etc: attempt(() => fs.writeFileSync("/etc/sand-planted", "x")),
      here: attempt(() => fs.writeFileSync("here.txt", "x")),
    };
    process.stderr.write(JSON.stringify(found) + "\\n");
  `;
    await own.load({ id: "looks", command: [process.execPath, "-e", script] });
    await own.call("looks", "any").catch(() => undefined);
    const { data } = await own.mcp.readServerLog({ serverId: "looks" });
    const found = JSON.parse(Buffer.from(data).toString());
    expect(found.pids).toBeLessThan(10);
    expect(["ENOENT", "EACCES"].includes(found.data) || found.data.length === 0).toBe(true);
    expect(found.etc).toBe("EROFS");
    expect(readFileSync(join(own.daemon.workspace, "here.txt"), "utf8")).toBe("x");
  },
  patientMs,
);

test(
  "servers have a policy of their own, apart from that of commands",
  async () => {
    const own = await startWorld({ SAND_SANDBOX: "required" });
    await own.daemon.kill();
    const policy = { executors: { mcp: { workspace: "read", network: "none" } } };
    writeFileSync(join(own.daemon.dataRoot, "policy.json"), JSON.stringify(policy), { mode: 0o600 });
    const next = connect(await own.daemon.again());
    world = next;
    const port = new URL(next.daemon.baseUrl).port;
    const script = `
      const fs = require("node:fs");
      const net = require("node:net");
      let write = "written";
      try { fs.writeFileSync("by-server.txt", "x"); } catch (error) { write = error.code; }
      const socket = net.connect(${port}, "127.0.0.1");
      const tell = (reach) => { process.stderr.write(JSON.stringify({ write, reach }) + "\\n"); process.exit(); };
      socket.on("connect", () => tell("reached")).on("error", (error) => tell(error.code));
    `;
    await next.load({ id: "narrow", command: [process.execPath, "-e", script] });
    await next.call("narrow", "any").catch(() => undefined);
    const { data } = await next.mcp.readServerLog({ serverId: "narrow" });
    expect(JSON.parse(Buffer.from(data).toString())).toEqual({ write: "EROFS", reach: "ECONNREFUSED" });
    await next.daemon.processes.start(shell("wide", "echo x > by-command.txt && cat by-command.txt"));
    expect((await gather(next.daemon, "wide")).stdout.toString()).toBe("x\n");
  },
  patientMs,
);
