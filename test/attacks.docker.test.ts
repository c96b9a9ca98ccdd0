/**
 * The attacks inside the image, in a container that was given what bubblewrap needs: our seccomp profile, and system
 * paths that aren't covered. The addresses that stand for metadata and a private network are the container's own.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitUntil } from "../packages/testkit/src/index.ts";
import { policyOf } from "./attacks/policy.ts";
import { type AttackReport, countBreaches, findingsOf, readReport } from "./attacks/read-report.ts";
import { isFull, sampleFor } from "./attacks/sample.ts";
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
const attacksMaxMs = 15 * 60_000;

test.runIf(missing !== undefined && isRequired)("a Docker engine is required here", () => {
  expect(missing).toBeUndefined();
});

describe.skipIf(missing !== undefined)(
  `attacks in the image (${missing ?? "a Docker engine answers"})`,
  () => {
    const stage = openStage();
    const token = "planted-token-of-the-daemon";
    let image = "";

    beforeAll(async () => {
      const tag = `sand-box:attacks-${process.pid}`;
      const script = join(root, "scripts/build-image.mjs");
      await promisify(execFile)(process.execPath, [script, "--tag", tag], { maxBuffer: 16 * 1024 * 1024 });
      image = tag;
    }, imageMaxMs);
    afterAll(async () => {
      await stage[Symbol.asyncDispose]();
      if (image !== "") await docker("rmi", image);
    }, imageMaxMs);

    /** Copies a file of ours into a container. */
    async function place(box: TestBox, path: string, text: string, owner: string): Promise<void> {
      const folder = mkdtempSync(join(tmpdir(), "sand-attacks-"));
      try {
        const file = join(folder, "file");
        writeFileSync(file, text, { mode: 0o644 });
        await docker("cp", file, `${box.name}:${path}`);
        await box.exec("chown", owner, path);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }

    const daemonPid = async (box: TestBox): Promise<number> =>
      Number(await box.exec("pgrep", "--oldest", "--full", "box-exec-daemon/main.cjs"));

    async function attackBox(sandbox: "required" | "off"): Promise<AttackReport> {
      const env = {
        ...connectorEnvironment("planted-token-of-the-gateway"),
        SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: token,
        SAND_SANDBOX: sandbox,
      };
      // Named in docs/SECURITY.md: what bubblewrap needs beyond an ordinary `docker run`. NET_ADMIN is for the addresses.
      const flags = [
        ...["--security-opt", `seccomp=${join(root, "docker/seccomp.json")}`],
        ...["--security-opt", "systempaths=unconfined", "--cap-add", "NET_ADMIN"],
      ];
      const box = await stage.startBox({ image, env, args: flags });
      for (const address of ["169.254.169.254/32", "10.99.0.1/32", "10.99.0.2/32"])
        await addAddress(box, address);
      if (sandbox !== "off") {
        await place(
          box,
          "/home/box/sand-data/policy.json",
          JSON.stringify(policyOf("/home/box")),
          "1001:1001",
        );
        await restartDaemon(box);
      }
      await docker("cp", join(root, "test/attacks"), `${box.name}:/opt/attacks`);
      const settings = {
        ...{
          port: 1337,
          token,
          daemonPid: await daemonPid(box),
          base: "/opt/world",
          workspace: "/workspace",
        },
        ...{ home: "/home/box", dataRoot: "/home/box/sand-data", owner: "1000:1000", network: true },
        only: process.env.SAND_ATTACKS_ONLY,
        ...sampleFor(sandbox),
      };
      await place(box, "/opt/settings.json", JSON.stringify(settings), "0:0");
      const { stdout } = await promisify(execFile)(
        "docker",
        ["exec", box.name, "node", "/opt/attacks/run-attacks.mjs", "/opt/settings.json"],
        { timeout: attacksMaxMs, maxBuffer: 16 * 1024 * 1024 },
      );
      await box.remove();
      return readReport(stdout);
    }

    /** In the container's network, by a program of this machine: the image needs none for that. */
    async function addAddress(box: TestBox, address: string): Promise<void> {
      const pid = await docker("inspect", "--format", "{{.State.Pid}}", box.name);
      const args = ["--target", pid, "--net", "ip", "address", "add", address, "dev", "lo"];
      await promisify(execFile)("nsenter", args);
    }

    async function restartDaemon(box: TestBox): Promise<void> {
      const before = await daemonPid(box);
      await box.exec("mkdir", "-p", "/opt/home");
      await box.exec("chown", "1000:1000", "/opt/home");
      await box.exec("kill", "-9", String(before));
      const look = async (): Promise<boolean> => (await daemonPid(box).catch(() => before)) !== before;
      await waitUntil("the daemon runs again", look, { deadlineMs: 60_000, everyMs: 100 });
      const ready = (): Promise<boolean> =>
        box.exec("cat", "/home/box/sand-data/exec-daemon.json").then(
          async (text) => text.includes(`"pid":${await daemonPid(box)}`),
          () => false,
        );
      await waitUntil("the daemon answers", ready, { deadlineMs: 60_000, everyMs: 100 });
    }

    test(
      "every attack is contained, everyday work works, and nothing is left behind",
      async () => {
        expect(findingsOf(await attackBox("required"))).toEqual([]);
      },
      attacksMaxMs,
    );

    test(
      "with the sandbox off, the accounts alone keep the secrets, and attacks of the other groups succeed",
      async () => {
        const counts = countBreaches(await attackBox("off"));
        for (const group of ["hooks", "network", "outside", "settings", "system"])
          expect([group, (counts[group] ?? 0) > 0]).toEqual([group, true]);
        // The one of all that the accounts don't keep; a sample may not have it.
        if (isFull) expect(counts.secrets).toBe(1);
        expect(counts.secrets).toBeLessThanOrEqual(1);
      },
      attacksMaxMs,
    );
  },
);
