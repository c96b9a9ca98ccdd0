/**
 * The box reached through its gateway alone, with the real host and the real daemon: by a home that knows an address and
 * a token, as of a container; and by one whose host has just come up and has no daemon yet.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isSameProcess } from "@sand/node-kit";
import { expect, test } from "vitest";
import { createTestHome, type Ran, type TestHome, waitFor } from "./run-sand.ts";
import { hasTmux, openPane } from "./tmux-pane.ts";

const sources = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const slowMs = 240_000;

interface Box extends AsyncDisposable {
  readonly home: TestHome;
  readonly url: string;
  readonly token: string;
  readonly env: Readonly<Record<string, string>>;
  run(...words: readonly string[]): Promise<Ran>;
}

async function startBox(): Promise<Box> {
  const home = createTestHome();
  const env = { SAND_SANDBOX: "auto", SAND_HOST_PORT: "0" };
  const run = (...words: readonly string[]): Promise<Ran> => home.run(words, { env });
  const up = await run("up", "--json");
  if (up.code !== 0) throw new Error(up.stderr);
  const { url } = JSON.parse(up.stdout);
  const { token } = readGateway(home);
  return {
    ...{ home, url, token, env, run },
    [Symbol.asyncDispose]: async () => {
      await run("down", "--force");
      home[Symbol.dispose]();
    },
  };
}

function readGateway(home: TestHome) {
  return JSON.parse(readFileSync(join(home.dataRoot, "gateway.json"), "utf8"));
}

/** A home of somebody who knows the way to the box and nothing else. */
function createDesktop({ url, token }: Box): TestHome {
  const desktop = createTestHome();
  writeFileSync(join(desktop.dataRoot, "container.json"), JSON.stringify({ url, token, container: "box" }));
  return desktop;
}

function readDaemon(home: TestHome) {
  return JSON.parse(readFileSync(join(home.dataRoot, "exec-daemon.json"), "utf8"));
}

test("right after up, without a turn, a command runs: the host starts its daemon for whoever asks first", {
  timeout: slowMs,
}, async () => {
  await using box = await startBox();
  expect(existsSync(join(box.home.dataRoot, "exec-daemon.json"))).toBe(false);
  const all = await Promise.all([box.run("exec", "pwd"), box.run("ports"), box.run("attach", "--list")]);
  expect(all.map(({ code, stderr }) => ({ code, stderr }))).toEqual(all.map(() => ({ code: 0, stderr: "" })));
  expect(all[0]?.stdout).toBe(`${join(box.home.folder, "workspace")}\n`);
});

test("commands, files, ports and terminals are reached from outside with the gateway's token alone", {
  timeout: slowMs,
}, async () => {
  await using box = await startBox();
  using desktop = createDesktop(box);
  const workspace = join(box.home.folder, "workspace");
  const piped = await desktop.run(["exec", "-c", "cat; echo err >&2; exit 3"], { input: "through\n" });
  expect(piped).toEqual({ code: 3, stdout: "through\n", stderr: "err\n" });
  const source = join(desktop.folder, "workspace", "big.bin");
  writeFileSync(source, Buffer.alloc(5 * 1024 * 1024, 7));
  expect((await desktop.run(["cp", source, "box:big.bin"])).code).toBe(0);
  expect(readFileSync(join(workspace, "big.bin")).equals(readFileSync(source))).toBe(true);
  expect((await desktop.run(["cp", "box:big.bin", "back.bin"])).code).toBe(0);
  expect(readFileSync(join(desktop.folder, "workspace", "back.bin")).equals(readFileSync(source))).toBe(true);
  expect((await desktop.run(["ports"])).stdout).toContain("No command listens");
  expect((await desktop.run(["attach", "--list"])).stdout).toContain("No terminal here");
  const watching = desktop.start(["watch", "-n", "1"], { input: "" });
  await waitFor("the watch", () => watching.stderr().includes("watching"));
  writeFileSync(join(workspace, "new.txt"), "x");
  expect((await watching.ended).stdout).toMatch(/^create +new\.txt$/mu);
  // Whoever has only that token is nobody for the daemon itself.
  const { rpcPort } = readDaemon(box.home);
  const direct = await fetch(`http://127.0.0.1:${rpcPort}/exec.v1.Control/Ping`, {
    ...{ method: "POST", body: "{}" },
    headers: { authorization: `Bearer ${box.token}`, "content-type": "application/json" },
  });
  expect(direct.status).toBe(401);
});

test("a command that runs is followed over its daemon's end, and the host brings another one up", {
  timeout: slowMs,
}, async () => {
  await using box = await startBox();
  using desktop = createDesktop(box);
  expect((await desktop.run(["exec", "true"])).code).toBe(0);
  const before = readDaemon(box.home);
  const long = desktop.start([
    "exec",
    "-n",
    "-c",
    "echo begun; until test -e go; do sleep 0.1; done; echo over",
  ]);
  await waitFor("its first line", () => long.stdout().includes("begun"));
  process.kill(before.pid, "SIGKILL");
  await waitFor("the daemon's end", () => !isSameProcess(before));
  await waitFor("another daemon", () => readDaemon(box.home).pid !== before.pid);
  writeFileSync(join(box.home.folder, "workspace", "go"), "");
  expect(await long.ended).toMatchObject({ code: 0, stdout: "begun\nover\n" });
});

test.skipIf(!hasTmux)(
  "a terminal is worked in from outside, and goes on after its daemon and its host were killed",
  {
    timeout: slowMs,
  },
  async () => {
    await using box = await startBox();
    using desktop = createDesktop(box);
    using pane = openPane(desktop, "work");
    await pane.shows(/outer\$$/mu);
    const inner = "--new -- env PS1='inner> ' bash --norc --noprofile";
    pane.line(`${process.execPath} ${sources} attach ${inner}; echo "status=$?"`);
    await pane.shows(/inner>$/mu);
    pane.line("stty size; kept=remembered; echo kept");
    await pane.shows(/^30 100\s+kept$/mu);
    const isAttached = async (): Promise<boolean> =>
      (await desktop.run(["attach", "--list"])).stdout.includes("in use");
    process.kill(readDaemon(box.home).pid, "SIGKILL");
    await expect.poll(isAttached, { timeout: 60_000 }).toBe(true);
    pane.line("echo still-$kept");
    await pane.shows(/^still-remembered$/mu);
    process.kill(readGateway(box.home).pid, "SIGKILL");
    // At the same place, as a container's.
    const env = { ...box.env, SAND_HOST_PORT: new URL(box.url).port };
    expect((await box.home.run(["up"], { env })).code).toBe(0);
    await expect.poll(isAttached, { timeout: 60_000 }).toBe(true);
    pane.line("echo again-$kept; exit 7");
    await pane.shows(/^again-remembered[\s\S]*status=7$/mu);
  },
);

test("down names the terminals that it leaves, one of them comes back, and --force ends them", {
  timeout: slowMs,
}, async () => {
  await using box = await startBox();
  const spawned = await fetch(`${box.url}/box/pty/terminals`, {
    ...{ method: "POST", body: JSON.stringify({ id: "work", argv: ["sleep", "3600"] }) },
    headers: { authorization: `Bearer ${box.token}` },
  });
  expect(spawned.status).toBe(201);
  expect(JSON.parse((await box.run("status", "--json")).stdout)).toMatchObject({
    daemon: { runningCommands: 0, runningTerminals: 1 },
  });
  const down = await box.run("down");
  expect(down).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("still runs 1 terminal, so it was left"),
  });
  expect(down.stdout).toContain("  sand attach work   sleep 3600\n");
  expect((await box.run("attach", "--list")).stdout).toContain("work  running");
  expect(JSON.parse((await box.run("down", "--force", "--json")).stdout)).toEqual({
    ...{ host: "not-running", daemon: "stopped", runningCommands: 0 },
    runningTerminals: [{ id: "work", command: "sleep 3600" }],
  });
});

test("a wrong token is 4, and a host that is gone is 3", { timeout: slowMs }, async () => {
  let url = "";
  {
    await using box = await startBox();
    url = box.url;
    using stranger = createDesktop({ ...box, token: "wrong" });
    for (const words of [["exec", "true"], ["ports"], ["attach", "--list"], ["cp", "box:x", "."]])
      expect({ words, code: (await stranger.run(words)).code }).toEqual({ words, code: 4 });
    expect(existsSync(join(box.home.dataRoot, "exec-daemon.json"))).toBe(false);
  }
  using late = createTestHome();
  writeFileSync(join(late.dataRoot, "container.json"), JSON.stringify({ url, token: "t" }));
  expect((await late.run(["exec", "true"])).code).toBe(3);
});
