import { appendFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestHome, type TestHome, waitFor } from "./run-sand.ts";

function logLine(second: number, msg: string): string {
  const time = `2026-01-02T03:04:${String(second).padStart(2, "0")}.000Z`;
  return `${JSON.stringify({ level: 30, time, pid: 1, name: "x", event: "some.event", msg, port: 7 })}\n`;
}

function pathsOf(home: TestHome) {
  mkdirSync(join(home.dataRoot, "logs"));
  return { host: join(home.dataRoot, "logs", "host.log"), daemon: join(home.dataRoot, "exec-daemon.log") };
}

test("the last lines of both logs come in order of time, a bare line stays behind the one before it", async () => {
  using home = createTestHome();
  const { host, daemon } = pathsOf(home);
  writeFileSync(host, `${logLine(1, "first")}${logLine(3, "third")}    at somewhere\n${logLine(5, "fifth")}`);
  writeFileSync(daemon, `${logLine(2, "second")}${logLine(4, "fourth")}`);
  const ran = await home.run(["logs", "-n", "5", "--json"]);
  const lines = ran.stdout
    .trim()
    .split("\n")
    .map((line) => Object(JSON.parse(line)));
  expect(lines.map(({ source, msg, text }) => [source, msg ?? text])).toEqual([
    ["daemon", "second"],
    ["host", "third"],
    ["host", "    at somewhere"],
    ["daemon", "fourth"],
    ["host", "fifth"],
  ]);
  expect((await home.run(["logs", "host", "-n", "1"])).stdout).toBe(
    "2026-01-02T03:04:05.000Z  host    info   some.event  fifth  port=7\n",
  );
});

test("more lines than one block of the file are found, and an escape sequence isn't passed on", async () => {
  using home = createTestHome();
  const { host } = pathsOf(home);
  writeFileSync(host, Array.from({ length: 30_000 }, (_unused, at) => `line ${at} \u001b[31mé\n`).join(""));
  const { stdout } = await home.run(["logs", "host", "-n", "25000"]);
  const lines = stdout.trimEnd().split("\n");
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([
    25_000,
    "host    line 5000 é",
    "host    line 29999 é",
  ]);
});

test("a followed log goes on in the file of the next run, and nothing of the old one is left out", async () => {
  using home = createTestHome();
  const { host, daemon } = pathsOf(home);
  writeFileSync(host, "one\n");
  const sand = home.start(["logs", "-f"]);
  await waitFor("the last line", () => sand.stdout() === "host    one\n");
  appendFileSync(host, "half");
  appendFileSync(host, " a line\n");
  await waitFor("the addition", () => sand.stdout().includes("half a line\n"));
  appendFileSync(host, "its last words\n");
  renameSync(host, `${host}.1`);
  writeFileSync(host, "a new run\n");
  // The daemon's log isn't there at first, and is written anew by each run.
  writeFileSync(daemon, "daemon one, with a long line\n");
  await waitFor("the daemon's line", () => sand.stdout().includes("daemon  daemon one"));
  writeFileSync(daemon, "daemon two\n");
  await waitFor("its next run", () => sand.stdout().includes("daemon  daemon two\n"));
  sand.child.kill("SIGTERM");
  const { stdout } = await sand.ended;
  const ofHost = stdout.split("\n").filter((line) => line.startsWith("host"));
  expect(ofHost).toEqual(
    ["one", "half a line", "its last words", "a new run"].map((line) => `host    ${line}`),
  );
});

test("no log at all is status 1 with what to do, and a log that nobody writes status 2", async () => {
  using home = createTestHome();
  const none = await home.run(["logs"]);
  expect({ code: none.code, told: none.stderr.includes("sand up") }).toEqual({ code: 1, told: true });
  expect((await home.run(["logs", "kernel"])).code).toBe(2);
});
