/**
 * What ends a command and what doesn't (rows 14, 15, 16), and what one costs that nobody listens to (row 1). Two limits
 * of time are told apart: how long a caller waits, and how long the command may live.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ExecutionState, SignalScope } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  gather,
  joinOutput,
  kindsOf,
  shell,
  startTestDaemon,
  type TestDaemon,
  until,
} from "./daemon-process.ts";

const patientMs = 120_000;
let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

async function startServer(processId: string, killMs: number): Promise<number> {
  const listener =
    "process.on('SIGTERM',()=>{});require('net').createServer().listen(0,'127.0.0.1',function(){console.log(this.address().port)})";
  // The shell's child holds the port and doesn't listen to TERM; the shell itself would end at once.
  const command = `"${process.execPath}" -e "${listener}" & wait`;
  await daemon.processes.start({ ...shell(processId, command), killMs: BigInt(killMs) });
  return await until("the port is known", async () => {
    const { events } = await daemon.processes.read({ processId, waitMs: 1000 });
    return Number(joinOutput(events, 1).toString()) || undefined;
  });
}

test("row 14: a life limit ends the server that the shell has started, and its port is free within a second", {
  timeout: patientMs,
}, async () => {
  const tookMs: number[] = [];
  // A loaded machine may be late once; it isn't late each time.
  for (let round = 0; round < 4 && !tookMs.some((ms) => ms < 1000); round += 1) {
    const processId = `server-${round}`;
    const port = await startServer(processId, 3000);
    expect(await canListen(port)).toBe(false);
    const { execution } = await daemon.processes.wait({ processId, waitMs: 60_000 });
    expect(execution?.exited).toMatchObject({ timedOut: true, reason: "timed-out" });
    const endedMs = performance.now();
    await until("the port is free", async () => (await canListen(port)) || undefined);
    tookMs.push(performance.now() - endedMs);
  }
  expect(Math.min(...tookMs)).toBeLessThan(1000);
});

test("row 15: who waits too long hears that it runs, and it runs on; only the limit of its life ends it", {
  timeout: patientMs,
}, async () => {
  await daemon.processes.start(shell("waited-for", "while [ ! -e go ]; do sleep 0.05; done; echo went on"));
  const { execution } = await daemon.processes.wait({ processId: "waited-for", waitMs: 300 });
  expect([execution?.state, execution?.exited]).toEqual([ExecutionState.RUNNING, undefined]);
  // A caller who hangs up ends nothing either.
  const leaving = new AbortController();
  const waiting = daemon.processes
    .wait({ processId: "waited-for", waitMs: 60_000 }, { signal: leaving.signal })
    .catch(() => "left");
  leaving.abort();
  expect(await waiting).toBe("left");
  await daemon.processes.start(shell("let it go", "touch go"));
  expect((await gather(daemon, "waited-for")).stdout.toString()).toBe("went on\n");
});

test("row 16: without a limit of its life a command in the background is still there after more than a minute", {
  timeout: 3 * patientMs,
}, async () => {
  await daemon.processes.start({ ...shell("minute", "echo up; sleep 600"), background: true });
  await delay(65_000);
  const { execution } = await daemon.processes.wait({ processId: "minute", waitMs: 0 });
  expect(execution).toMatchObject({ state: ExecutionState.RUNNING });
  await daemon.processes.signal({ processId: "minute", name: "SIGKILL", scope: SignalScope.GROUP });
  expect((await gather(daemon, "minute")).stdout.toString()).toBe("up\n");
});

function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

test("row 1: of a flood that nobody reads a bounded part is kept on disk, and nothing in memory", {
  timeout: patientMs,
}, async () => {
  await daemon.processes.start(shell("warm-up", "seq 1 2000000"));
  await gather(daemon, "warm-up");
  const folder = join(daemon.dataRoot, "executions", "unread");
  const script =
    "head -c 400000000 /dev/zero | tr '\\0' x; echo; echo newest; touch written; while [ ! -e end ]; do sleep 0.05; done";
  await daemon.processes.start(shell("unread", script));
  const keeper: number = JSON.parse(readFileSync(join(folder, "claim.json"), "utf8")).pid;
  const before = [daemon.child.pid ?? 0, keeper].map(residentMib);
  const sizes: number[] = [];
  await until(
    "all of it is written",
    () => {
      const files = readdirSync(folder).map((name) =>
        statSync(join(folder, name), { throwIfNoEntry: false }),
      );
      sizes.push(files.reduce((sum, file) => sum + (file?.size ?? 0), 0));
      return existsSync(join(daemon.workspace, "written")) || undefined;
    },
    patientMs,
  );
  const after = [daemon.child.pid ?? 0, keeper].map(residentMib);
  expect(after.map((mib, at) => mib - (before[at] ?? 0)).filter((mib) => mib > 64)).toEqual([]);
  expect(sizes.length).toBeGreaterThan(1);
  // Of each stream 8 MiB are kept; the rest is what may be there for a moment.
  expect(Math.max(...sizes)).toBeLessThan(12 * 1024 * 1024);
  await daemon.processes.start(shell("end it", "touch end"));
  const { events, stdout } = await gather(daemon, "unread");
  const kinds = kindsOf(events);
  expect([kinds[0], kinds.includes("gap"), kinds.at(-1)]).toEqual(["started", true, "closed"]);
  expect(stdout.toString().endsWith("xxx\nnewest\n")).toBe(true);
});
