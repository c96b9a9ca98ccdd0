/**
 * The attacks on the shipped daemon on a plain machine, in a network namespace that the test makes. Then the same
 * attacks with the sandbox off: a suite that finds nothing there would find nothing anywhere.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type AttackReport, countBreaches, findingsOf, readReport } from "./attacks/read-report.ts";

const attacksMaxMs = 15 * 60_000;
const root = join(import.meta.dirname, "..");
const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("bwrap");
const namespace = ["--net", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])];
const missing = findMissing();

function findMissing(): string | undefined {
  try {
    execFileSync("unshare", [...namespace, "ip", "link", "set", "lo", "up"], { stdio: "pipe" });
    execFileSync("bwrap", ["--version"], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.split("\n")[0] : "no network namespace can be made";
  }
}

async function attackBox(sandbox: "required" | "off"): Promise<AttackReport> {
  const folder = mkdtempSync(join(tmpdir(), "sand-attacks-"));
  try {
    const machine = join(root, "test/attacks/plain-machine.mjs");
    const daemon = [process.execPath, join(root, "dist/box-exec-daemon/main.cjs")];
    const args = [...namespace, process.execPath, machine, folder, sandbox, ...daemon];
    const { stdout } = await promisify(execFile)("unshare", args, {
      timeout: attacksMaxMs,
      maxBuffer: 16 * 1024 * 1024,
    });
    return readReport(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.runIf(missing !== undefined && isRequired)("namespaces and bubblewrap are required here", () => {
  expect(missing).toBeUndefined();
});

describe.skipIf(missing !== undefined)(
  `attacks on a plain machine (${missing ?? "bubblewrap works"})`,
  () => {
    test(
      "every attack is contained, everyday work works, and nothing is left behind",
      async () => {
        expect(findingsOf(await attackBox("required"))).toEqual([]);
      },
      attacksMaxMs,
    );

    test(
      "with the sandbox off, attacks of every group succeed",
      async () => {
        const report = await attackBox("off");
        const counts = countBreaches(report);
        expect(Object.keys(counts).sort()).toEqual([
          "hooks",
          "network",
          "outside",
          "secrets",
          "settings",
          "system",
        ]);
        for (const [group, count] of Object.entries(counts))
          expect([group, count > 0]).toEqual([group, true]);
        expect(findingsOf(report).length).toBeGreaterThan(report.results.length / 2);
      },
      attacksMaxMs,
    );
  },
);
