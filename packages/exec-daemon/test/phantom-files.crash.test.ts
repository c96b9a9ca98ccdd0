/** Row 49: what keeps a sandboxed command from protected paths is never seen by git, also after a crash. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { gather, shell, startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";

let daemon: TestDaemon;
afterEach(() => daemon.dispose());

function git(...args: readonly string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
  return execFileSync("git", [...identity, ...args], { cwd: daemon.workspace, encoding: "utf8" });
}

const status = (): string => git("status", "--porcelain", "--ignored", "--untracked-files=all");

/** Whoever belongs to the run, the one that keeps it among them. */
function processesOf(executionId: string): readonly number[] {
  const claim = join(daemon.dataRoot, "executions", executionId, "claim.json");
  const marked = readdirSync("/proc").filter((name) => {
    try {
      return readFileSync(`/proc/${name}/environ`, "latin1").includes(`SAND_EXECUTION_ID=${executionId}\0`);
    } catch {
      return false;
    }
  });
  return [JSON.parse(readFileSync(claim, "utf8")).pid, ...marked.map(Number)];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went with another of them.
  }
}

test("row 49: git status is clean while a command runs, after it, and after all of it was killed at once", async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "required" });
  git("init", "--quiet");
  writeFileSync(join(daemon.workspace, "file"), "committed\n");
  git("add", ".");
  git("commit", "--quiet", "--message", "first");
  const names = readdirSync(daemon.workspace);

  await daemon.processes.start(
    shell("short", "git status --porcelain --ignored; echo more >> file; git checkout -q file"),
  );
  expect((await gather(daemon, "short")).stdout.toString()).toBe("");
  expect(status()).toBe("");

  await daemon.processes.start(shell("killed", "echo up; sleep 600"));
  await until("it is up", async () => {
    const { events } = await daemon.processes.read({ processId: "killed", waitMs: 1000 });
    return events.some(({ kind }) => kind.case === "output") || undefined;
  });
  expect(readdirSync(daemon.workspace).length).toBeGreaterThan(names.length);
  expect(status()).toBe("");
  const victims = processesOf("killed");
  expect(victims.length).toBeGreaterThan(2);
  await daemon.kill();
  for (const pid of victims) kill(pid);
  expect(status()).toBe("");
  daemon = await daemon.again();
  await until("nothing is left", () => String(readdirSync(daemon.workspace)) === String(names) || undefined);
  expect(status()).toBe("");
});
