/** `sand ports` against the real daemon. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestHome, waitFor } from "./run-sand.ts";
import { startTestDaemon } from "./test-daemon.ts";

const slowMs = 120_000;

test(
  "a port that a command listens on is listed with it, Sand's own only on request",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    expect((await home.run(["ports"])).stdout).toContain("No command listens.");
    const listen = `require("net").createServer().listen(0, "127.0.0.1", function () { require("fs").writeFileSync("port", String(this.address().port)) })`;
    const running = home.start(["exec", "-n", process.execPath, "-e", listen]);
    const path = join(home.folder, "workspace", "port");
    await waitFor("it listens", () => readOrNothing(path) !== "");
    const port = Number(readOrNothing(path));
    const shown = await home.run(["ports"]);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(
      new RegExp(`^ *${port}  .*pid \\d+ .*127\\.0\\.0\\.1 .*command sand-exec-`, "u"),
    );
    const rows = (await home.run(["ports", "--all", "--json"])).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows.some((row) => row.port === port && row.owner.startsWith("command sand-exec-"))).toBe(true);
    expect(rows.some((row) => row.owner === "sand itself")).toBe(true);
    running.child.kill("SIGTERM");
    await running.ended;
  },
  slowMs,
);

test(
  "without a daemon it says so and what to do",
  async () => {
    using home = createTestHome();
    const ran = await home.run(["ports"]);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain("no execution daemon runs here");
  },
  slowMs,
);

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
