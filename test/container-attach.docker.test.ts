/**
 * A person's tools on the desktop and the box in a container, of which nothing but the gateway's port is published: a
 * command, files, ports and a terminal.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestHome, type TestHome } from "../packages/cli/test/run-sand.ts";
import { hasTmux, openPane } from "../packages/cli/test/tmux-pane.ts";
import {
  connectorEnvironment,
  docker,
  findMissingEngine,
  openStage,
  type TestBox,
} from "./container-stage.ts";

const root = join(import.meta.dirname, "..");
const missing = await findMissingEngine();
const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("docker");
const imageMaxMs = 20 * 60_000;
const scenarioMaxMs = 5 * 60_000;

test.runIf(missing !== undefined && isRequired)("a Docker engine is required here", () => {
  expect(missing).toBeUndefined();
});

describe.skipIf(missing !== undefined)(`from the desktop (${missing ?? "a Docker engine answers"})`, () => {
  const stage = openStage();
  const token = randomBytes(32).toString("hex");
  const image = `sand-box:attach-${process.pid}`;
  let box: TestBox;
  let desktop: TestHome;

  beforeAll(async () => {
    const script = join(root, "scripts/build-image.mjs");
    await promisify(execFile)(process.execPath, [script, "--tag", image], { maxBuffer: 16 * 1024 * 1024 });
    box = await stage.startBox({ image, env: connectorEnvironment(token) });
    desktop = createTestHome();
    const { url } = await box.access();
    writeFileSync(join(desktop.dataRoot, "container.json"), JSON.stringify({ url, token }));
  }, imageMaxMs);
  afterAll(async () => {
    desktop[Symbol.dispose]();
    await stage[Symbol.asyncDispose]();
    await docker("rmi", image);
  }, scenarioMaxMs);

  test(
    "a command, files and ports are reached with the gateway's token, as the box's own account",
    async () => {
      const ran = await desktop.run(["exec", "-c", "id -un; pwd; cat"], { input: "typed\n" });
      expect(ran).toEqual({ code: 0, stdout: "box\n/workspace\ntyped\n", stderr: "" });
      const file = join(desktop.folder, "workspace", "file.bin");
      writeFileSync(file, randomBytes(1024 * 1024));
      expect((await desktop.run(["cp", file, "box:file.bin"])).code).toBe(0);
      expect((await desktop.run(["cp", "box:file.bin", "back.bin"])).code).toBe(0);
      expect(readFileSync(join(desktop.folder, "workspace", "back.bin")).equals(readFileSync(file))).toBe(
        true,
      );
      expect((await desktop.run(["ports"])).stdout).toContain("No command listens");
      expect(await docker("port", box.name)).toMatch(/^1340\/tcp -> 127\.0\.0\.1:\d+$/u);
    },
    scenarioMaxMs,
  );

  test.skipIf(!hasTmux)(
    "a person works in a terminal of the box, leaves it and comes back",
    async () => {
      using pane = openPane(desktop, "work");
      const sand = `${process.execPath} ${join(root, "packages/cli/src/main.ts")} attach`;
      await pane.shows(/outer\$$/mu);
      pane.line(`${sand} --new -- env PS1='inner> ' bash --norc --noprofile; echo "status=$?"`);
      await pane.shows(/inner>$/mu);
      pane.line("stty size; id -un; kept=remembered");
      await pane.shows(/^30 100\s+box$/mu);
      pane.keys("C-]");
      await pane.shows(/status=0/u);
      pane.line(`clear; ${sand}; echo "status=$?"`);
      await pane.shows(/inner>$/mu);
      pane.line("echo still-$kept; exit 7");
      await pane.shows(/^still-remembered[\s\S]*status=7$/mu);
    },
    scenarioMaxMs,
  );

  test(
    "the daemon's token is nowhere outside the box, and the gateway's doesn't open the daemon",
    async () => {
      const ran = await desktop.run([
        "exec",
        "-c",
        "env; cat /home/box/sand-data/* /proc/*/environ 2>/dev/null",
      ]);
      expect(ran.stdout).not.toContain(token);
      const body = '{"env":{}}';
      const answer = await fetch(`${(await box.access()).url}/box/rpc/exec.v1.Control/SyncSecrets`, {
        ...{ method: "POST", body },
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      });
      expect(answer.status).toBe(404);
    },
    scenarioMaxMs,
  );

  test(
    "a plugin is installed beside the data root, where commands read it and can neither change nor replace it",
    async () => {
      const manifest = Buffer.from('{"name":"look"}').toString("base64");
      const body = JSON.stringify({ name: "look", files: [{ path: "plugin.json", data: manifest }] });
      const program = `
        const token = require("node:fs").readFileSync("/run/sand/daemon.token", "utf8").trim();
        fetch("http://127.0.0.1:1337/exec.v1.Control/InstallPlugin", {
          method: "POST", body: ${JSON.stringify(body)},
          headers: { authorization: "Bearer " + token, "content-type": "application/json" },
        }).then(async (answer) => console.log(answer.status, await answer.text()));`;
      expect(await box.exec("node", "-e", program)).toMatch(/^200 /u);
      const folder = "/home/box/sand-data-plugins";
      expect((await desktop.run(["exec", "cat", `${folder}/look/plugin.json`])).stdout).toBe(
        '{"name":"look"}',
      );
      for (const change of [
        `touch ${folder}/x`,
        `mv ${folder} /home/box/other`,
        `rm ${folder}/look/plugin.json`,
      ])
        expect({ change, code: (await desktop.run(["exec", "-c", `${change} 2>/dev/null`])).code }).toEqual({
          change,
          code: 1,
        });
    },
    scenarioMaxMs,
  );
});
