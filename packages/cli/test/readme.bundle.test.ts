/**
 * The README's own commands, run from top to bottom in one shell by the built bundles: a clean home, no provider's
 * key, any free port. What a newcomer is told to type must work as it stands there.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { exitCodes } from "../src/exit-codes.ts";
import { waitFor } from "./run-sand.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const home = mkdtempSync(join(tmpdir(), "sand-readme-"));
const bundles = ["sand.cjs", "host-main.cjs", "box-exec-daemon/main.cjs"];
const wordsMax = 900;
const environment = {
  PATH: process.env.PATH ?? "",
  HOME: home,
  SAND_HOST_PORT: "0",
  SAND_BOX_EXEC_DAEMON_PORT: "0",
  SAND_BOX_PTY_PORT: "0",
  // A machine that can't fence commands in must still be able to run this test.
  SAND_SANDBOX: "auto",
  // Nor may it touch the box of whoever runs it, where there is one.
  SAND_IMAGE: "sand-test:none",
};

function runnableBlocks(): string[] {
  return [...readme.matchAll(/^```sh runnable\n(.*?)^```$/gmsu)].map((match) => match[1] ?? "");
}

function runShell(script: string): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", script], {
      cwd: root,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

function survivors(): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/u.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/environ`, "latin1").includes(home);
    } catch {
      // It ended between the listing and the look, or is another user's: then it isn't ours.
      return false;
    }
  });
}

afterAll(() => {
  for (const pid of survivors()) process.kill(Number(pid), "SIGKILL");
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

test("the README's commands work from top to bottom, and leave nothing running", async () => {
  for (const bundle of bundles)
    expect(existsSync(join(root, "dist", bundle)), `${bundle} is built`).toBe(true);
  const blocks = runnableBlocks();
  expect(blocks.length).toBeGreaterThanOrEqual(7);
  const script = ["set -e", ...blocks.map((block, at) => `echo "== block ${at + 1}"\n${block}`)].join("\n");
  const { code, output } = await runShell(script);
  expect(code, output).toBe(0);
  for (const sign of [
    "The host is up.",
    "The host is idle.",
    "✓ completed",
    "hello",
    "retry: 1000",
    '"channel":"transcript"',
  ]) {
    expect(output).toContain(sign);
  }
  expect(output).toContain('{"accepted":true}');
  expect(output).toContain("The host has ended.");
  await waitFor("every process to end", () => survivors().length === 0);
});

test("the README is short, and its table of exit statuses is the program's", () => {
  expect(readme.split(/\s+/u).filter((word) => word !== "").length).toBeLessThanOrEqual(wordsMax);
  const rows = [...readme.matchAll(/^\| (\d+) \| /gmu)].map((match) => Number(match[1]));
  expect(rows).toEqual(Object.values(exitCodes));
});
