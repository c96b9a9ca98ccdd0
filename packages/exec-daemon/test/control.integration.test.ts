/** The control side: variables and secrets, resources, listening ports, plugins. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gather, shell, until } from "./daemon-process.ts";
import { codeOf, isAlive, type McpWorld, oddServer, startMcpWorld } from "./mcp-world.ts";

const patientMs = 90_000;
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const planted = "planted-value-4711";

const kinds = [
  { name: "as the daemon's account", env: {}, skip: false },
  { name: "in a sandbox", env: { SAND_SANDBOX: "required" }, skip: false },
  { name: "as another account (needs root)", env: { SAND_BOX_COMMAND_UID: String(nobody) }, skip: !isRoot },
] as const;

describe.each(kinds)("$name", ({ env, skip }) => {
  let world: McpWorld;
  beforeAll(async () => {
    if (skip) return;
    world = await startMcpWorld(env);
    if (!isRoot) return;
    chmodSync(world.daemon.folder, 0o711);
    chownSync(world.daemon.workspace, nobody, nobody);
  });
  afterAll(() => world?.dispose());

  async function outputOf(id: string, text: string, agentId = ""): Promise<string> {
    const { processes } = world.daemon;
    await processes.start({ ...shell(id, text), lineage: { agentId, turnId: "" } });
    return (await gather(world.daemon, id)).stdout.toString();
  }

  test.skipIf(skip)(
    "variables reach the commands that start from then on",
    async () => {
      const asked = await world.control.refreshEnvironment({ set: { COLOUR: "red", SIZE: "two words" } });
      expect(asked.names).toEqual(["COLOUR", "SIZE"]);
      expect(await outputOf("env-1", 'printf "%s,%s" "$COLOUR" "$SIZE"')).toBe("red,two words");
      await world.control.refreshEnvironment({ set: { COLOUR: "blue" }, unset: ["SIZE"] });
      expect(await outputOf("env-2", 'printf "%s,%s" "$COLOUR" "$SIZE"')).toBe("blue,");
      await world.control.refreshEnvironment({ replace: true });
      expect(await outputOf("env-3", 'printf "%s" "$COLOUR"')).toBe("");
    },
    patientMs,
  );

  test.skipIf(skip)(
    "a secret reaches its agent's commands, and nobody else sees it",
    async () => {
      await world.control.syncSecrets({ scope: "agent:one", values: { API_TOKEN: planted } });
      const own =
        'printf "%s " "$API_TOKEN"; tr "\\0" " " < /proc/self/cmdline; ps -eo args | grep -c "[p]lanted-value"';
      const said = await outputOf("secret-1", own, "one");
      expect(said.startsWith(`${planted} `)).toBe(true);
      expect(said.slice(planted.length)).not.toContain(planted);
      expect(said.trim().endsWith("0")).toBe(true);
      expect(await outputOf("secret-2", "env", "two")).not.toContain(planted);
      expect(await outputOf("secret-3", "env")).not.toContain(planted);
      await world.control.syncSecrets({ scope: "agent:one", values: {} });
      expect(await outputOf("secret-4", "env", "one")).not.toContain(planted);
      expect(world.daemon.log()).not.toContain(planted);
    },
    patientMs,
  );

  test.skipIf(skip)(
    "what is run for a command with a secret has it in no argument",
    async () => {
      await world.control.syncSecrets({ scope: "commands", values: { API_TOKEN: planted } });
      expect(await outputOf("argued", 'printf %s "$API_TOKEN"')).toBe(planted);
      // Too short a moment to be seen from outside each time: what was carried out is on record.
      const record = join(world.daemon.dataRoot, "executions", "argued", "start.json");
      const { launch } = JSON.parse(readFileSync(record, "utf8"));
      expect(launch.argv.join(" ")).not.toContain(planted);
      expect(launch.env.API_TOKEN).toBe(planted);
      expect(statSync(record).mode & 0o077).toBe(0);
      await world.control.syncSecrets({ scope: "commands", values: {} });
    },
    patientMs,
  );

  test.skipIf(skip)(
    "a port that a command listens on is listed with its execution",
    async () => {
      const script = `require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port) })`;
      await world.daemon.processes.start({
        processId: "listener",
        command: { case: "argv", value: { args: [process.execPath, "-e", script] } },
        lineage: { agentId: "ag", turnId: "t" },
      });
      const port = await until("it listens", async () => {
        const { events } = await world.daemon.processes.read({ processId: "listener" });
        const text = events.flatMap(({ kind }) =>
          kind.case === "output" ? [Buffer.from(kind.value.data).toString()] : [],
        );
        return /^(\d+)\n/u.exec(text.join(""))?.[1];
      });
      const { ports } = await world.control.listeningPorts({});
      const row = ports.find((candidate) => candidate.port === Number(port));
      expect(row).toMatchObject({ address: "127.0.0.1", owner: { processId: "listener", agentId: "ag" } });
      expect(row?.pid).toBeGreaterThan(0);
      expect(ports.every(({ owner }) => owner?.daemon !== true)).toBe(true);
      const all = await world.control.listeningPorts({ all: true });
      const listening = all.ports.find(({ port: own }) => own === Number(new URL(world.daemon.baseUrl).port));
      expect(listening?.owner?.daemon).toBe(true);

      const usage = await world.control.resourceUsage({ processes: true });
      const process_ = usage.processes.find(({ pid }) => pid === row?.pid);
      expect(process_?.owner?.processId).toBe("listener");
      expect(process_?.memoryBytes).toBeGreaterThan(1_000_000n);
      await world.daemon.processes.signal({ processId: "listener", name: "SIGKILL", scope: 3 });
      await until("it is gone", () => (isAlive(row?.pid ?? 0) ? undefined : true));
    },
    patientMs,
  );
});

describe("of one daemon", () => {
  let world: McpWorld;
  beforeAll(async () => {
    world = await startMcpWorld();
  });
  afterAll(() => world.dispose());

  test("resources are counted, and a row for each process is given on request", async () => {
    const plain = await world.control.resourceUsage({});
    expect(plain.processes).toEqual([]);
    expect(plain.cpuCount).toBeGreaterThan(0);
    expect(plain.cpuTotalMs).toBeGreaterThan(plain.cpuBusyMs);
    expect(plain.memoryTotalBytes).toBeGreaterThan(plain.memoryUsedBytes);
    expect(plain.diskTotalBytes).toBeGreaterThanOrEqual(plain.diskFreeBytes);
    expect(plain.daemonMemoryBytes).toBeGreaterThan(10_000_000n);
    expect(plain.daemonFdsMax).toBeGreaterThan(plain.daemonOpenFds);
    const whole = await world.control.resourceUsage({ processes: true });
    const daemon = whole.processes.find(({ pid }) => pid === world.daemon.child.pid);
    expect(daemon?.owner?.daemon).toBe(true);
    expect(daemon?.openFds).toBeGreaterThan(5);
  });

  test.each([
    [{ scope: "everything", values: {} }],
    [{ scope: "", values: {} }],
    [{ scope: "agent:", values: {} }],
    [{ scope: "commands", values: { LD_PRELOAD: "x" } }],
    [{ scope: "commands", values: { PATH: "x" } }],
    [{ scope: "commands", values: { SAND_TOKEN: "x" } }],
    [{ scope: "commands", values: { "A=B": "x" } }],
    [{ scope: "commands", values: { A: "a\0b" } }],
    [{ scope: "commands", values: { A: "x".repeat(70_000) } }],
  ])(
    "a secret that makes no sense or would change how programs are loaded is refused: %j",
    async (request) => {
      expect(await codeOf(world.control.syncSecrets(request))).toBe("exec/invalid");
    },
  );

  test("a variable that makes no sense is refused, and nothing is changed then", async () => {
    const refresh = (set: Record<string, string>) => codeOf(world.control.refreshEnvironment({ set }));
    expect(await refresh({ "1A": "x" })).toBe("exec/invalid");
    expect(await refresh({ SAND_EXECUTION_ID: "x" })).toBe("exec/invalid");
    expect(await refresh({ GOOD: "x", BAD: "a\0b" })).toBe("exec/invalid");
    expect((await world.control.refreshEnvironment({})).names).toEqual([]);
  });

  const bytes = (text: string) => new TextEncoder().encode(text);
  const manifest = (more: object) => ({
    path: "plugin.json",
    data: bytes(JSON.stringify({ name: "demo", version: "1.2", description: "shows how", ...more })),
  });

  test(
    "a plugin brings its server and its skills, is replaced as a whole, and goes with what it brought",
    async () => {
      const server = {
        odd: { command: process.execPath, args: ["{pluginRoot}/server.mjs"], env: { WHERE: "{pluginRoot}" } },
      };
      const skill = { name: "greet", description: "how to greet", path: "skills/greet/SKILL.md" };
      const files = [
        manifest({ mcpServers: server, skills: [skill] }),
        { path: "server.mjs", data: readFileSync(oddServer) },
        { path: "skills/greet/SKILL.md", data: bytes("# Say hello\n") },
        { path: "skills/greet/run.sh", data: bytes("#!/bin/sh\necho hello\n"), executable: true },
      ];
      const { plugin } = await world.control.installPlugin({ name: "demo", files });
      expect(plugin).toMatchObject({ name: "demo", version: "1.2", mcpServerIds: ["demo.odd"] });
      expect(plugin?.skills).toMatchObject([skill]);
      const folder = plugin?.folder ?? "";
      expect(JSON.parse(await world.say("demo.odd", "env")).env.WHERE).toBe(folder);
      const pid = Number(await world.say("demo.odd", "pid"));
      await world.daemon.processes.start(shell("skill", `${folder}/skills/greet/run.sh`));
      expect((await gather(world.daemon, "skill")).stdout.toString()).toBe("hello\n");

      await world.control.installPlugin({ name: "demo", files: files.slice(0, 3) });
      expect(isAlive(pid)).toBe(false);
      expect(existsSync(join(folder, "skills/greet/run.sh"))).toBe(false);
      expect(await world.say("demo.odd", "echo", { value: "new" })).toBe("new");
      expect((await world.control.listPlugins({})).plugins.map(({ name }) => name)).toEqual(["demo"]);

      expect((await world.control.removePlugin({ name: "demo" })).existed).toBe(true);
      expect(await codeOf(world.call("demo.odd", "pid"))).toBe("mcp/unknown-server");
      expect((await world.control.removePlugin({ name: "demo" })).existed).toBe(false);
      expect(readdirSync(`${world.daemon.dataRoot}-plugins`)).toEqual([]);
    },
    patientMs,
  );

  test.each([
    ["no manifest", "demo", [{ path: "a", data: bytes("") }]],
    ["another name", "other", [manifest({})]],
    ["a name that is a path", "../demo", [manifest({})]],
    ["a path that leads out", "demo", [manifest({}), { path: "../x", data: bytes("") }]],
    ["an absolute path", "demo", [manifest({}), { path: "/x", data: bytes("") }]],
    ["a path twice", "demo", [manifest({}), { path: "x", data: bytes("") }, { path: "x", data: bytes("") }]],
    ["a skill without its file", "demo", [manifest({ skills: [{ name: "a", path: "b" }] })]],
    ["a manifest that is no JSON", "demo", [{ path: "plugin.json", data: bytes("{") }]],
  ])("a plugin with %s is refused and leaves nothing", async (_what, name, files) => {
    expect(await codeOf(world.control.installPlugin({ name, files }))).toBe("exec/invalid");
    const root = `${world.daemon.dataRoot}-plugins`;
    expect(existsSync(root) ? readdirSync(root) : []).toEqual([]);
  });

  test("a folder that somebody damaged is said and left out", async () => {
    const root = `${world.daemon.dataRoot}-plugins`;
    mkdirSync(join(root, "broken"), { recursive: true });
    writeFileSync(join(root, "broken", "plugin.json"), "{");
    const { plugins, problems } = await world.control.listPlugins({});
    expect(plugins).toEqual([]);
    expect(problems[0]).toContain("broken");
    await world.control.removePlugin({ name: "broken" });
    expect(statSync(root).isDirectory()).toBe(true);
  });
});
