/** The host's keeper of the box against the real daemon's program. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, isSameProcess, readProcessIdentity, systemClock } from "@sand/node-kit";
import { type AgentId, brandId, type ExecutionId, type TurnId } from "@sand/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type BoxKeeper,
  type BoxPort,
  type ExecutionEvent,
  type StartSpec,
  startCursor,
} from "../src/box/box-port.ts";
import { type BoxKeeperDeps, createBoxKeeper } from "../src/box/create-box-keeper.ts";

const daemonProgram = join(import.meta.dirname, "../../exec-daemon/src/main.ts");
const logger = createLogger({ name: "test", level: "silent" });
const never = new AbortController().signal;
let folder: string;
let keepers: BoxKeeper[];
let servers: Server[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-box-"));
  mkdirSync(join(folder, "workspace"));
  [keepers, servers] = [[], []];
});

afterEach(async () => {
  for (const keeper of keepers) await keeper.close();
  for (const server of servers) server.close();
  for (const pid of [readDaemonPid(), ...readKeeperPids()]) await end(pid);
  rmSync(folder, { recursive: true, force: true });
});

function keeperWith(exec: Partial<BoxKeeperDeps["exec"]> = {}, more: Partial<BoxKeeperDeps> = {}): BoxKeeper {
  const env = { PATH: process.env.PATH ?? "", HOME: folder };
  const keeper = createBoxKeeper({
    exec: { host: "127.0.0.1", port: 0, token: null, useExisting: false, sandbox: "off", env, ...exec },
    ...{
      dataRoot: folder,
      workspaceRoot: join(folder, "workspace"),
      clock: systemClock,
      logger,
      daemonProgram,
    },
    ...more,
  });
  keepers.push(keeper);
  return keeper;
}

async function readyBox(keeper: BoxKeeper): Promise<BoxPort> {
  const state = await keeper.ensure();
  if (state.state !== "ready") throw new Error(state.reason);
  return state.box;
}

function readDaemonPid(): number {
  try {
    return JSON.parse(readFileSync(join(folder, "exec-daemon.json"), "utf8")).pid;
  } catch {
    return 0;
  }
}

function readKeeperPids(): readonly number[] {
  try {
    const root = join(folder, "executions");
    return readdirSync(root).map(
      (name) => JSON.parse(readFileSync(join(root, name, "claim.json"), "utf8")).pid,
    );
  } catch {
    return [];
  }
}

async function end(pid: number, name: NodeJS.Signals = "SIGTERM"): Promise<void> {
  const identity = pid === 0 ? undefined : readProcessIdentity(pid);
  if (identity === undefined) return;
  process.kill(pid, name);
  await expect.poll(() => isSameProcess(identity), { timeout: 20_000 }).toBe(false);
}

function spec(executionId: string, text: string): StartSpec {
  return {
    executionId: brandId<ExecutionId>(executionId),
    command: { kind: "shell", text },
    ...{
      cwd: null,
      env: {},
      user: null,
      tty: false,
      stdin: false,
      display: null,
      background: false,
      killMs: null,
    },
    sandbox: { writableRoots: [], maskedPaths: [] },
    lineage: { agentId: brandId<AgentId>("a"), turnId: brandId<TurnId>("t") },
  };
}

const textOf = (events: readonly ExecutionEvent[]): string =>
  Buffer.concat(events.flatMap((event) => (event.kind === "output" ? [event.bytes] : []))).toString();

test("twenty turns that need a box at once start one daemon, with a token of its own", async () => {
  const keeper = keeperWith();
  const states = await Promise.all(Array.from({ length: 20 }, () => keeper.ensure()));
  expect(new Set(states.map((state) => state.state === "ready" && state.box)).size).toBe(1);
  const pid = readDaemonPid();
  expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toMatch(/AUTH_TOKEN=/u);
  expect(readFileSync(join(folder, "exec-daemon.token"), "utf8").trim()).toMatch(/^[0-9a-f]{64}$/u);
});

test("another host adopts the daemon that runs", async () => {
  await readyBox(keeperWith());
  const pid = readDaemonPid();
  expect((await (await readyBox(keeperWith())).ping()).pid).toBe(pid);
});

test("an attached reader goes on over the daemon's death: it is started again, and nothing is lost or twice", async () => {
  const box = await readyBox(keeperWith());
  const go = join(folder, "workspace", "go");
  const started = await box.start(
    spec("long", "echo before; while [ ! -e go ]; do sleep 0.05; done; echo after"),
  );
  expect(started).toMatchObject({ outcome: "started", existing: false });
  const events: ExecutionEvent[] = [];
  for await (const event of box.attach(brandId<ExecutionId>("long"), startCursor, never)) {
    if (event.kind !== "keepalive") events.push(event);
    if (event.kind === "output" && textOf(events) === "before\n") {
      await end(readDaemonPid(), "SIGKILL");
      writeFileSync(go, "");
    }
  }
  expect(textOf(events)).toBe("before\nafter\n");
  expect(events.map((event) => event.kind)).toEqual(["started", "output", "output", "exited", "closed"]);
}, 60_000);

test("what the daemon refuses comes back as a value with its code", async () => {
  const box = await readyBox(keeperWith());
  await box.start(spec("same", "true"));
  expect(await box.start(spec("same", "false"))).toMatchObject({
    outcome: "refused",
    code: "exec/key-conflict",
  });
  expect(await box.wait(brandId<ExecutionId>("none"), 0)).toMatchObject({
    outcome: "refused",
    code: "exec/unknown-execution",
  });
  expect(await box.files.read("/proc/1/environ", { offset: 0, lengthMax: null })).toMatchObject({
    code: "file/denied",
  });
});

test("a daemon that doesn't take our token is absent as unauthorized, and nothing is started over it", async () => {
  await readyBox(keeperWith());
  const state = await keeperWith({ token: "another" }).ensure();
  expect(state).toMatchObject({ state: "absent", code: "box/unauthorized" });
});

test.each([
  ["is junk", (path: string) => writeFileSync(path, "no token\nat all\u0000")],
  ["is another token", (path: string) => writeFileSync(path, "another-token-of-the-right-shape")],
  ["is gone", (path: string) => rmSync(path)],
])("when the file of the token %s, the daemon that runs mends it and is found", async (_what, spoil) => {
  await readyBox(keeperWith());
  const path = join(folder, "exec-daemon.token");
  const [pid, token] = [readDaemonPid(), readFileSync(path, "utf8")];
  spoil(path);
  expect((await (await readyBox(keeperWith())).ping()).pid).toBe(pid);
  expect(readFileSync(path, "utf8")).toBe(token);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test.each([
  ["holds junk", "no token\nat all\u0000", 0o600],
  ["may be read by others", "a-token-that-others-have-seen", 0o644],
])("a file of the token that %s is made anew with the next daemon", async (_what, text, mode) => {
  const path = join(folder, "exec-daemon.token");
  writeFileSync(path, text, { mode });
  await readyBox(keeperWith());
  expect(readFileSync(path, "utf8").trim()).toMatch(/^[0-9a-f]{64}$/u);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("another workspace's daemon on the usual port is not ours, unless we are told to use it", async () => {
  await readyBox(keeperWith({ token: "shared" }));
  const { rpcPort: port } = JSON.parse(readFileSync(join(folder, "exec-daemon.json"), "utf8"));
  mkdirSync(join(folder, "other"));
  const other = { dataRoot: join(folder, "other"), workspaceRoot: join(folder, "other") };
  const state = await keeperWith({ port, token: "shared" }, other).ensure();
  expect(state.state === "absent" && state.reason).toContain("another workspace");
  expect((await keeperWith({ port, token: "shared", useExisting: true }, other).ensure()).state).toBe(
    "ready",
  );
});

test("an open port that isn't a daemon is no box", async () => {
  const server = createServer((_request, response) => response.end("{}"));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const clock = { nowMs: () => (time += 5000), sleep: async () => undefined };
  let time = 0;
  const state = await keeperWith({ port, useExisting: true }, { clock }).ensure();
  expect(state).toMatchObject({ state: "absent", code: "box/unavailable" });
});

test("a daemon that can't start is absent at once, with what it said", async () => {
  const state = await keeperWith({ host: "192.0.2.1" }).ensure();
  expect(state).toMatchObject({ state: "absent", code: "box/unavailable" });
  expect(state.state === "absent" && state.reason).toContain("can't listen on 192.0.2.1");
});
