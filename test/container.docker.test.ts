/**
 * The image on a real engine: built, started with a connector's environment alone, killed in the middle of a command,
 * replaced over the same volumes. Skipped with the reason where no engine answers, and a failure where one is required
 * (`SAND_TEST_REQUIRE=docker`).
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  callGateway,
  callOrFail,
  fieldOf,
  listOf,
  textOf,
  waitUntil,
} from "../packages/testkit/src/index.ts";
import { proveContainerKills } from "./container-kills.ts";
import {
  awaitIdle,
  connectorEnvironment,
  createAgent,
  docker,
  findMissingEngine,
  openStage,
  readTranscript,
  runByPrompt,
  sendPrompt,
  type TestBox,
  toolCalls,
} from "./container-stage.ts";

const root = join(import.meta.dirname, "..");
const missing = await findMissingEngine();
const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("docker");
const imageMaxMs = 20 * 60_000;
const scenarioMaxMs = 5 * 60_000;

test.runIf(missing !== undefined && isRequired)("a Docker engine is required here", () => {
  expect(missing).toBeUndefined();
});

describe.skipIf(missing !== undefined)(`the image (${missing ?? "a Docker engine answers"})`, () => {
  const stage = openStage();
  const token = randomBytes(32).toString("hex");
  let image = "";
  let base = "";

  beforeAll(async () => {
    const script = join(root, "scripts/build-image.mjs");
    const tag = `sand-box:test-${process.pid}`;
    const { stdout } = await promisify(execFile)(process.execPath, [script, "--tag", tag], {
      maxBuffer: 16 * 1024 * 1024,
    });
    const built: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    [image, base] = [textOf(fieldOf(built, "image")), textOf(fieldOf(built, "base"))];
  }, imageMaxMs);
  afterAll(async () => {
    await stage[Symbol.asyncDispose]();
    if (image !== "") await docker("rmi", image);
  }, scenarioMaxMs);

  test(
    "an agent's work outlives a killed container and a replaced one, and nothing is run twice",
    async () => {
      const [data, workspace] = [await stage.createVolume(), await stage.createVolume()];
      const plan = {
        image,
        env: connectorEnvironment(token),
        args: ["--volume", `${data}:/home/box/sand-data`, "--volume", `${workspace}:/workspace`],
      };
      const box = await stage.startBox(plan);
      const agentId = await createAgent(box, "main");
      const first = await runByPrompt(box, agentId, "id -u && pwd && echo kept > kept.txt");
      expect(first).toMatchObject({ status: "completed" });
      expect(textOf(fieldOf(first, "outputPreview"))).toContain("1000\n/workspace");

      await sendPrompt(box, agentId, "run `echo begun >> runs && sleep 60 && echo done >> runs`");
      await waitUntil("the command runs", () => box.exec("cat", "/workspace/runs").catch(() => undefined), {
        deadlineMs: 30_000,
      });
      await docker("kill", box.name);
      await docker("start", box.name);
      await box.awaitHealth();
      await awaitIdle(box, agentId);
      const settled = await readTranscript(box, agentId);
      expect(toolCalls(settled).map((call) => fieldOf(call, "status"))).toEqual(["completed", "unknown"]);
      expect(await box.exec("cat", "/workspace/runs")).toBe("begun");
      expect(await runByPrompt(box, agentId, "cat kept.txt")).toMatchObject({ status: "completed" });

      const before = await readTranscript(box, agentId);
      await box.remove();
      const next = await stage.startBox(plan);
      expect(await readTranscript(next, agentId)).toEqual(before);
      const rows = listOf(await callOrFail(await next.access(), "listAgents", {}));
      expect(rows.map((row) => fieldOf(row, "name"))).toEqual(["main"]);
      const last = await runByPrompt(next, agentId, "cat kept.txt runs");
      expect(textOf(fieldOf(last, "outputPreview"))).toContain("kept\nbegun");
      await next.remove();
    },
    scenarioMaxMs,
  );

  describe("a running box", () => {
    let box: TestBox;
    beforeAll(async () => {
      box = await stage.startBox({ image, env: connectorEnvironment(token) });
    }, scenarioMaxMs);

    test("nothing listens but the gateway and the daemon's two ports", async () => {
      const tables = await box.exec("cat", "/proc/net/tcp", "/proc/net/tcp6");
      const ports = [...tables.matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A /gmu)].map((match) =>
        Number.parseInt(match[1] ?? "", 16),
      );
      expect(ports.sort()).toEqual([1337, 1338, 1340]);
      expect(await docker("port", box.name)).toMatch(/^1340\/tcp -> 127\.0\.0\.1:\d+$/u);
    });

    test("nothing but /health answers without the bearer", async () => {
      const { url } = await box.access();
      expect((await fetch(`${url}/health`)).status).toBe(200);
      for (const path of ["/", "/events", "/api/events", "/api/health", "/nothing"])
        expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 401]);
      for (const wrong of ["", "local", `${token}0`]) {
        const reply = await callGateway({ url, token: wrong }, "listAgents", {});
        expect(reply).toMatchObject({ kind: "answered", status: 401 });
      }
      const ping = [
        "const at = 'http://127.0.0.1:1337/' + process.argv[1];",
        "const headers = { 'content-type': 'application/json', authorization: 'Bearer local' };",
        "fetch(at, { method: 'POST', headers, body: '{}' }).then((answer) => console.log(answer.status));",
      ].join("");
      expect(await box.exec("node", "-e", ping, "sand.exec.v1.Control/Ping")).toBe("401");
      const look = ping.replace("1337", "1338").replace("method: 'POST', headers, body: '{}'", "headers");
      for (const place of ["", "terminals", "tickets"])
        expect([place, await box.exec("node", "-e", look, place)]).toEqual([place, "401"]);
    });

    test("each program has its own account and no more than it needs", async () => {
      const status = await box.exec("cat", "/proc/1/status");
      // CHOWN, KILL, SETGID, SETUID: Docker grants no DAC_READ_SEARCH by itself.
      expect(status).toMatch(/^CapEff:\t00000000000000e1$/mu);
      expect(status).toMatch(/^NoNewPrivs:\t1$/mu);
      const processes = await box.exec("ps", "-eo", "uid=,args=");
      const uidOf = (word: string): string | undefined =>
        processes
          .split("\n")
          .find((line) => line.includes(word))
          ?.trim()
          .split(" ")[0];
      expect([uidOf("host-main.cjs"), uidOf("box-exec-daemon/main.cjs")]).toEqual(["1001", "1001"]);
      expect(await box.exec("stat", "-c", "%u %a", "/home/box/sand-data")).toBe("1001 700");
      expect(await box.exec("stat", "-c", "%u", "/workspace")).toBe("1000");
    });

    test("a command keeps no privilege and can't replace what the box runs", async () => {
      const agentId = await createAgent(box, "plain");
      const attempts = [
        "grep -E 'CapEff|CapPrm|CapAmb' /proc/self/status",
        "mv /home/box/sand-host /home/box/x",
        "mkdir /home/box/node_modules/better-sqlite3",
        "ls /home/box/sand-data",
        "ls /run/sand",
        "ls /run/grok-bot/",
        "kill -9 1",
      ];
      const call = await runByPrompt(box, agentId, `(${attempts.join("; ")}; echo) 2>&1`);
      const said = textOf(fieldOf(call, "outputPreview"));
      expect(said.match(/^Cap\w+:\t0{16}$/gmu)).toHaveLength(3);
      expect(said.match(/denied|not permitted/gu)).toHaveLength(6);
    });

    test("files that an agent writes belong to the commands' account", async () => {
      const agentId = await createAgent(box, "writer");
      await sendPrompt(box, agentId, "write hello to deep/notes.txt");
      await awaitIdle(box, agentId);
      expect(await box.exec("stat", "-c", "%u", "/workspace/deep", "/workspace/deep/notes.txt")).toBe(
        "1000\n1000",
      );
    });

    test("what commands leave behind is reaped when it ends: no zombie stays", async () => {
      const agentId = await createAgent(box, "orphans");
      const orphans = "for n in $(seq 20); do (setsid sh -c 'sleep 4.321; exit 3' > /dev/null 2>&1 &); done";
      await runByPrompt(box, agentId, orphans);
      const rows = async (): Promise<readonly string[]> =>
        (await box.exec("ps", "-eo", "stat=,args=")).split("\n");
      expect((await rows()).filter((row) => row.includes("sleep 4.321")).length).toBeGreaterThan(0);
      const isQuiet = async (): Promise<boolean> =>
        (await rows()).every((row) => !row.includes("sleep 4.321") && !row.startsWith("Z"));
      await waitUntil("they have ended and are reaped", isQuiet, { deadlineMs: 60_000, everyMs: 200 });
    });

    test("a program that dies is started again", async () => {
      const pidOf = (name: string): Promise<string> => box.exec("pgrep", "--oldest", "--full", name);
      for (const name of ["host-main.cjs", "box-exec-daemon/main.cjs"]) {
        const before = await pidOf(name);
        await box.exec("kill", "-9", before);
        const look = async (): Promise<boolean> => (await pidOf(name).catch(() => before)) !== before;
        await waitUntil(`${name} runs again`, look, { deadlineMs: 20_000, everyMs: 100 });
      }
      await box.awaitHealth();
      const agentId = await createAgent(box, "after");
      expect(await runByPrompt(box, agentId, "true")).toMatchObject({ status: "completed" });
    });

    test("it ends in order when it is told to, and records how its command ended", async () => {
      const agentId = await createAgent(box, "ended");
      await sendPrompt(box, agentId, "run `echo begun > ended && sleep 60`");
      await waitUntil("the command runs", () => box.exec("cat", "/workspace/ended").catch(() => undefined), {
        deadlineMs: 30_000,
      });
      await docker("stop", box.name);
      expect(await docker("inspect", "--format", "{{.State.ExitCode}}", box.name)).toBe("0");
      await docker("start", box.name);
      await box.awaitHealth();
      await awaitIdle(box, agentId);
      const call = toolCalls(await readTranscript(box, agentId)).at(-1);
      expect(fieldOf(call, "status")).not.toBe("unknown");
    });
  });

  test(
    "a command finds no token in processes, files or loopback answers, and the same scan as root does",
    async () => {
      const make = (what: string): string =>
        `${["planted", "secret", ""].join("~")}${what}-${randomBytes(12).toString("hex")}`;
      const env = {
        ...connectorEnvironment(make("gateway")),
        SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: make("daemon"),
        SAND_INFERENCE_PROVIDER: "offline",
        SAND_INFERENCE_API_KEY: make("provider"),
      };
      const box = await stage.startBox({ image, env });
      const scanner = join(root, "packages/testkit/src/proofs/scan-for-secrets.mjs");
      await docker("cp", scanner, `${box.name}:/workspace/scan.mjs`);
      const agentId = await createAgent(box, "scanner");
      const roots = '["/run","/home","/root","/tmp","/var/tmp","/dev/shm","/workspace"]';
      const call = await runByPrompt(box, agentId, `node scan.mjs /workspace/report.json '${roots}'`);
      expect(call).toMatchObject({ status: "completed" });
      const report: unknown = JSON.parse(await box.exec("cat", "/workspace/report.json"));
      expect(fieldOf(report, "finds")).toEqual([]);
      for (const kind of ["commandLines", "files", "ports"])
        expect(Number(fieldOf(fieldOf(report, "looked"), kind))).toBeGreaterThan(0);
      await box.exec("node", "/workspace/scan.mjs", "/tmp/root.json", roots);
      const control: unknown = JSON.parse(await box.exec("cat", "/tmp/root.json"));
      expect(listOf(fieldOf(control, "finds"))).toContain("/proc/1/environ");
      const log = await docker("logs", box.name);
      expect(log).not.toContain(["planted", "secret"].join("~"));
      await box.remove();
    },
    scenarioMaxMs,
  );

  test(
    "killed at random while agents work, it loses nothing and does nothing twice",
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const report: string[] = [`seed ${seed}`];
      const options = { image, kills: 4, seed, hasLedger: true, report: (line: string) => report.push(line) };
      const { findings } = await proveContainerKills(options);
      expect(findings, report.join("\n")).toEqual([]);
    },
    scenarioMaxMs,
  );

  test(
    "programs that a connector mounts, closed to all but an owner elsewhere, are what runs",
    async () => {
      const staged = mkdtempSync(join(tmpdir(), "sand-staged-"));
      try {
        const [host, daemon] = [join(staged, "host-main.cjs"), join(staged, "box-exec-daemon")];
        mkdirSync(daemon, { mode: 0o700 });
        copyFileSync(join(root, "dist/host-main.cjs"), host);
        copyFileSync(join(root, "dist/box-exec-daemon/main.cjs"), join(daemon, "main.cjs"));
        for (const path of [host, join(daemon, "main.cjs")]) chmodSync(path, 0o600);
        const mounts = [
          `${host}:/home/box/sand-host/host-main.cjs:ro`,
          `${daemon}:/home/box/box-exec-daemon:ro`,
        ];
        const args = mounts.flatMap((mount) => ["--volume", mount]);
        const box = await stage.startBox({ image, env: connectorEnvironment(token), args });
        const agentId = await createAgent(box, "mounted");
        expect(await runByPrompt(box, agentId, "true")).toMatchObject({ status: "completed" });
        expect(await box.exec("ps", "-eo", "uid=,args=")).toMatch(
          /^ *1001 \S*node \/run\/sand-programs\/sand-host\/host-main\.cjs$/mu,
        );
        await box.remove();
      } finally {
        rmSync(staged, { recursive: true, force: true });
      }
    },
    scenarioMaxMs,
  );

  test(
    "a connector's credential reaches the host and no command, whoever owns its file",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "sand-credential-"));
      try {
        // Open, so that nothing but the place of the mount keeps commands out.
        chmodSync(folder, 0o755);
        const file = join(folder, "inference.json");
        const write = (accessToken: string): void => {
          writeFileSync(file, JSON.stringify({ accessToken, expiresAtMs: 0 }), { mode: 0o600 });
          // The number that commands have inside: the mount itself must keep them out.
          if (process.getuid?.() === 0) chownSync(file, 1000, 1000);
        };
        write("planted-first");
        const env = {
          ...connectorEnvironment(token),
          SAND_DEV_INFERENCE_TOKEN_FILE: "/run/grok-bot/inference.json",
        };
        const args = ["--cap-add", "DAC_READ_SEARCH", "--volume", `${folder}:/run/grok-bot:ro`];
        const box = await stage.startBox({ image, env, args });
        const copy = "/run/sand/inference.json";
        expect(await box.exec("stat", "-c", "%u %a", copy)).toBe("1001 600");
        const agentId = await createAgent(box, "credential");
        const call = await runByPrompt(box, agentId, `cat /run/grok-bot/inference.json ${copy}`);
        expect(textOf(fieldOf(call, "outputPreview")).match(/Permission denied/gu)).toHaveLength(2);
        write("planted-second");
        const look = async (): Promise<boolean> => (await box.exec("cat", copy)).includes("planted-second");
        await waitUntil("a renewed credential is copied", look, { deadlineMs: 20_000, everyMs: 200 });
        await box.remove();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    scenarioMaxMs,
  );

  test(
    "where the container allows it, commands are enclosed as well",
    async () => {
      const box = await stage.startBox({
        image,
        env: { ...connectorEnvironment(token), SAND_SANDBOX: "required" },
        args: ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"],
      });
      const agentId = await createAgent(box, "enclosed");
      const call = await runByPrompt(
        box,
        agentId,
        "cat /proc/1/comm; id -u; echo x > file; touch /home/box/x",
      );
      const said = textOf(fieldOf(call, "outputPreview"));
      expect(said).toContain("bwrap\n1000\n");
      expect(said).toContain("Read-only file system");
      await box.remove();
    },
    scenarioMaxMs,
  );

  test(
    "the two bundles alone, mounted read-only over an image with Node, are a box too",
    async () => {
      const { SAND_USE_EXISTING_BOX_EXEC_DAEMON: _, NODE_PATH: _path, ...env } = connectorEnvironment(token);
      const box = await stage.startBox({
        image: base,
        env,
        args: [
          ...["--volume", `${join(root, "dist/host-main.cjs")}:/home/box/sand-host/host-main.cjs:ro`],
          ...["--volume", `${join(root, "dist/box-exec-daemon")}:/home/box/box-exec-daemon:ro`],
          ...["--init", "--tmpfs", "/workspace"],
        ],
        command: ["node", "/home/box/sand-host/host-main.cjs"],
      });
      const agentId = await createAgent(box, "bare");
      expect(await runByPrompt(box, agentId, "pwd")).toMatchObject({
        status: "completed",
        outputPreview: expect.stringContaining("/workspace"),
      });
      await box.remove();
    },
    scenarioMaxMs,
  );
});
