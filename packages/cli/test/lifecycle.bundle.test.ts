/** `sand` from up to down with the real host and daemon, as the bundles that are shipped. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestHome, type Ran, type TestHome, waitFor } from "./run-sand.ts";

const program = fileURLToPath(new URL("../../../dist/sand.cjs", import.meta.url));

/** A home in which `sand` is the bundle and the host is gone at the end, whatever happened. */
function createWorld() {
  const home: TestHome = createTestHome();
  const env = { SAND_SANDBOX: "auto", SAND_HOST_PORT: "0" };
  const sand = (...words: readonly string[]): Promise<Ran> => home.run(words, { program, env });
  return {
    home,
    sand,
    start: (...words: readonly string[]) => home.start(words, { program, env, input: "" }),
    [Symbol.asyncDispose]: async () => {
      await sand("down", "--force");
      home[Symbol.dispose]();
    },
  };
}

function readPid(dataRoot: string): number {
  return Number(Object(JSON.parse(readFileSync(join(dataRoot, "gateway.json"), "utf8"))).pid);
}

test("up is safe to repeat, status and doctor see the host, and down ends host and daemon", async () => {
  await using world = createWorld();
  const { sand } = world;
  const first = JSON.parse((await sand("up", "--json")).stdout);
  expect(first).toMatchObject({
    began: "started",
    sandbox: "auto",
    model: "offline",
    dataRoot: world.home.dataRoot,
  });
  const again = JSON.parse((await sand("up", "--json")).stdout);
  expect(again).toMatchObject({ began: "already-running", pid: first.pid, url: first.url });
  expect((await sand("send", "nobody", "hello")).code).toBe(6);
  expect((await sand("agents", "create", "main")).code).toBe(0);
  const turn = await sand("send", "main", "run: echo from-the-box", "--wait");
  expect({ code: turn.code, shown: turn.stdout.includes("  │ from-the-box\n  ✓ completed\n") }).toEqual({
    code: 0,
    shown: true,
  });
  expect(JSON.parse((await sand("status", "--json")).stdout)).toMatchObject({
    pid: first.pid,
    busy: false,
    agents: 1,
    running: [],
    daemon: { runningCommands: 0 },
  });
  expect((await sand("doctor")).stdout).toContain(`a host answers at ${first.url}`);
  expect(JSON.parse((await sand("down", "--json")).stdout)).toEqual({
    host: "stopped",
    daemon: "stopped",
    runningCommands: 0,
  });
  expect((await sand("status")).code).toBe(3);
  expect((await sand("down")).code).toBe(3);
});

test("refusals of the real gateway end with their documented status", async () => {
  await using world = createWorld();
  const { sand, home } = world;
  const { url } = JSON.parse((await sand("up", "--json")).stdout);
  await sand("agents", "create", "main");
  expect((await sand("send", "main", "help", "--nonce", "n-1")).code).toBe(0);
  expect((await sand("send", "main", "help", "--nonce", "n-1")).code).toBe(0);
  expect((await sand("send", "main", "something else", "--nonce", "n-1")).code).toBe(5);
  const env = { SAND_HOST_GATEWAY_URL: url, SAND_HOST_GATEWAY_TOKEN: "wrong" };
  expect((await home.run(["agents"], { program, env })).code).toBe(4);
});

test("a followed turn outlives the host: it is killed, started again, and the result is shown once", async () => {
  await using world = createWorld();
  const { sand, home } = world;
  await sand("up");
  await sand("agents", "create", "main");
  const command = "echo ran >> counter.txt; for i in 1 2 3 4; do echo tick-$i; sleep 1; done";
  const following = world.start("send", "main", `run: ${command}`, "--wait");
  await waitFor("the command's second line", () => following.stdout().includes("tick-2\n"), 60_000);
  process.kill(readPid(home.dataRoot), "SIGKILL");
  await sand("up");
  const ran = await following.ended;
  const answer = ran.stdout.slice(ran.stdout.lastIndexOf("gave:"));
  expect(ran.code, ran.stdout).toBe(0);
  expect(ran.stdout).toContain("… the host is back");
  expect([1, 2, 3, 4].map((tick) => answer.split(`tick-${tick}\n`).length)).toEqual([2, 2, 2, 2]);
  expect(readFileSync(join(home.folder, "workspace", "counter.txt"), "utf8")).toBe("ran\n");
});

test("down leaves a daemon that still runs a command, and --force ends both", async () => {
  await using world = createWorld();
  const { sand, home } = world;
  await sand("up");
  await sand("agents", "create", "main");
  await sand("send", "main", "run: sleep 300");
  const status = async () =>
    Object(JSON.parse((await sand("status", "--json")).stdout)).daemon?.runningCommands;
  for (let round = 0; round < 60 && (await status()) !== 1; round += 1);
  expect(JSON.parse((await sand("down", "--json")).stdout)).toEqual({
    host: "stopped",
    daemon: "kept",
    runningCommands: 1,
  });
  expect(JSON.parse((await sand("down", "--force", "--json")).stdout)).toMatchObject({
    daemon: "stopped",
    runningCommands: 1,
  });
  await waitFor("the command to end", () => !isAnybodyIn(home.folder));
});

function isAnybodyIn(folder: string): boolean {
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/u.test(name) || Number(name) === process.pid) return false;
    try {
      return readlinkSync(`/proc/${name}/cwd`).startsWith(folder);
    } catch {
      // It ended meanwhile, or belongs to another user.
      return false;
    }
  });
}
