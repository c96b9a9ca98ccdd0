/** `sand exec` against the real daemon: bytes, exit statuses, signals and input, and what happens in an outage. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestHome, waitFor } from "./run-sand.ts";
import { daemonToken, startTestDaemon } from "./test-daemon.ts";

/** for tests that start `sand` several times */
const slowMs = 120_000;

const sources = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test("output is passed on byte for byte, each stream to its own, and the exit status is the command's", async () => {
  using home = createTestHome();
  await using _daemon = await startTestDaemon(home);
  const script = "head -c 300000 /dev/urandom | tee given.bin; printf oops >&2; exit 7";
  const path = join(home.folder, "taken.bin");
  const out = openSync(path, "w");
  const child = spawn(process.execPath, [sources, "exec", "-n", "-c", script], {
    env: { ...home.environment },
    stdio: ["ignore", out, "pipe"],
  });
  let stderr = "";
  child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
  await once(child, "close");
  closeSync(out);
  expect({ code: child.exitCode, stderr }).toEqual({ code: 7, stderr: "oops" });
  expect(readFileSync(path).equals(readFileSync(join(home.folder, "workspace", "given.bin")))).toBe(true);
});

test(
  "folder, variables and everything behind the command's name reach the command",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    expect((await home.run(["exec", "mkdir", "-p", "sub"])).code).toBe(0);
    const words = ["exec", "--cwd", "sub", "-e", "A=1 2", "--env", "B=x", "sh", "-c"];
    const ran = await home.run([...words, 'echo "$A $B $* $(basename "$PWD")"', "sh", "--json", "-n"]);
    expect(ran).toEqual({ code: 0, stdout: "1 2 x --json -n sub\n", stderr: "" });
  },
  slowMs,
);

test(
  "a pipe is the command's input to its end, and a command that takes none of it ends all the same",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    const input = "line\n".repeat(100_000);
    const counted = await home.run(["exec", "wc", "-c"], { input });
    expect({ code: counted.code, bytes: Number(counted.stdout) }).toEqual({ code: 0, bytes: input.length });
    // The input stays open: nobody would ever end it.
    const open = home.start(["exec", "true"]);
    expect(await open.ended).toEqual({ code: 0, stdout: "", stderr: "" });
    expect((await home.run(["exec", "-n", "cat"], { input: "unseen" })).stdout).toBe("");
  },
  slowMs,
);

test(
  "a command that can't be found is 127, one that is ended by a signal 128 and more, one out of time 124",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    const codes = [];
    for (const words of [["no-such-program"], ["-c", "kill -KILL $$"], ["--timeout", "1", "sleep", "60"]])
      codes.push((await home.run(["exec", ...words])).code);
    expect(codes).toEqual([127, 137, 124]);
  },
  slowMs,
);

test(
  "Ctrl-C asks the command's group to end and passes its status on; a second one kills it",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    const polite = home.start([
      "exec",
      "-n",
      "-c",
      "trap 'echo bye; exit 5' TERM; echo ready; sleep 60 & wait",
    ]);
    await waitFor("the command", () => polite.stdout() === "ready\n");
    polite.child.kill("SIGINT");
    expect(await polite.ended).toEqual({ code: 5, stdout: "ready\nbye\n", stderr: "" });
    const stubborn = home.start([
      "exec",
      "-n",
      "-c",
      "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done",
    ]);
    await waitFor("the command", () => stubborn.stdout() === "ready\n");
    stubborn.child.kill("SIGINT");
    await waitFor("its refusal", () => stubborn.stdout().includes("no\n"));
    stubborn.child.kill("SIGINT");
    expect((await stubborn.ended).code).toBe(137);
  },
  slowMs,
);

test("a reader that closes our output ends the command", async () => {
  using home = createTestHome();
  await using _daemon = await startTestDaemon(home);
  const sand = home.start(["exec", "-n", "-c", "echo $$ > pid; while :; do echo y; sleep 0.01; done"]);
  await waitFor("output", () => sand.stdout() !== "");
  sand.child.stdout?.destroy();
  await sand.ended;
  const pid = readFileSync(join(home.folder, "workspace", "pid"), "utf8").trim();
  await waitFor("the command's end", () => !existsSync(`/proc/${pid}`));
});

test(
  "a daemon that is killed and comes back costs no output, and the command runs once",
  async () => {
    using home = createTestHome();
    const first = await startTestDaemon(home);
    const script = "echo ran >> ran.txt; for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done; exit 3";
    const sand = home.start(["exec", "-n", "-c", script]);
    await waitFor("the second line", () => sand.stdout().includes("2\n"));
    await first.kill();
    await waitFor("the outage to be noticed", () => sand.stderr().includes("waiting for it"));
    await using _second = await startTestDaemon(home);
    const ran = await sand.ended;
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 3, stdout: "1\n2\n3\n4\n5\n6\n" });
    expect(readFileSync(join(home.folder, "workspace", "ran.txt"), "utf8")).toBe("ran\n");
  },
  slowMs,
);

test("the token is in no argument, no environment and no output, and nothing is kept of a command that is over", async () => {
  using home = createTestHome();
  await using _daemon = await startTestDaemon(home);
  const sand = home.start(["exec", "-n", "-c", "echo ready; env; sleep 1"]);
  await waitFor("the command", () => sand.stdout().includes("ready"));
  const about = ["cmdline", "environ"].map((name) =>
    readFileSync(`/proc/${sand.child.pid}/${name}`, "latin1"),
  );
  const ran = await sand.ended;
  expect(`${about.join("")}${ran.stdout}${ran.stderr}`).not.toContain(daemonToken);
  expect(readdirSync(join(home.dataRoot, "executions"))).toEqual([]);
});

test(
  "output that came faster than it was read is said to be lost, and the status isn't 0",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    const workspace = join(home.folder, "workspace");
    const script = "echo ready; until [ -e go ]; do sleep 0.05; done; head -c 20000000 /dev/zero; touch done";
    const sand = home.start(["exec", "-n", "-c", script]);
    await waitFor("the command", () => sand.stdout() === "ready\n");
    sand.child.kill("SIGSTOP");
    writeFileSync(join(workspace, "go"), "");
    await waitFor("its output", () => existsSync(join(workspace, "done")));
    sand.child.kill("SIGCONT");
    const ran = await sand.ended;
    expect({ code: ran.code, told: / bytes of stdout .* lost\n$/u.test(ran.stderr) }).toEqual({
      code: 1,
      told: true,
    });
  },
  slowMs,
);

test(
  "while the daemon is away a third Ctrl-C leaves, with the status of an interruption",
  async () => {
    using home = createTestHome();
    const first = await startTestDaemon(home);
    const sand = home.start(["exec", "-n", "-c", "echo ready; sleep 5"]);
    await waitFor("the command", () => sand.stdout() === "ready\n");
    await first.kill();
    await waitFor("the outage to be noticed", () => sand.stderr().includes("waiting for it"));
    // Signals that come together may be delivered as one, so it is asked until it goes; perhaps once more than it hears.
    const asking = setInterval(() => sand.child.kill("SIGINT"), 50);
    try {
      const { code } = await sand.ended;
      expect(sand.child.signalCode ?? code).toSatisfy((how) => how === "SIGINT" || how === 130);
    } finally {
      clearInterval(asking);
      await using _second = await startTestDaemon(home);
      await home.run(["down", "--force"]);
    }
  },
  slowMs,
);

test("with --json every event is one document", async () => {
  using home = createTestHome();
  await using _daemon = await startTestDaemon(home);
  const ran = await home.run(["exec", "--json", "-c", "echo out; sleep 0.2; echo err >&2; exit 2"]);
  const lines = ran.stdout
    .trim()
    .split("\n")
    .map((line) => Object(JSON.parse(line)));
  expect({ code: ran.code, kinds: lines.map((line) => line.kind) }).toEqual({
    code: 2,
    kinds: ["started", "output", "output", "exited"],
  });
  expect(lines.slice(1)).toEqual([
    { kind: "output", stream: "stdout", text: "out\n" },
    { kind: "output", stream: "stderr", text: "err\n" },
    { kind: "exited", code: 2, signal: null, timedOut: false },
  ]);
});

test(
  "without a daemon and a host the status is 3, and with a wrong token 4",
  async () => {
    using home = createTestHome();
    const none = await home.run(["exec", "true"]);
    expect({ code: none.code, told: none.stderr.includes("no execution daemon") }).toEqual({
      code: 3,
      told: true,
    });
    await using _daemon = await startTestDaemon(home);
    const env = { SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "another" };
    expect((await home.run(["exec", "true"], { env })).code).toBe(4);
  },
  slowMs,
);

test(
  "a variable without a name, a time that is none and a shell text of two words are status 2",
  async () => {
    using home = createTestHome();
    for (const words of [["-e", "=x", "true"], ["--timeout", "soon", "true"], ["-c", "a", "b"], []])
      expect((await home.run(["exec", ...words])).code).toBe(2);
  },
  slowMs,
);
