/** Readers that come, go, stall and are slow, and callers that give up: none of them may cost another anything. */
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Event, ExecutionState } from "@sand/protocol/exec";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  gather,
  joinOutput,
  kindsOf,
  shell,
  startTestDaemon,
  type TestDaemon,
  token,
  until,
} from "./daemon-process.ts";

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startTestDaemon();
});
afterEach(() => daemon.dispose());

const stop = (name: string): void => writeFileSync(join(daemon.workspace, name), "");
/** Counts in pieces of about 8 KiB, some hundreds of them in a second, until the test makes the file `name`. */
const counting = (name: string, lines = 1_500) =>
  `i=1; while [ ! -e ${name} ]; do seq $i $((i + ${lines - 1})); i=$((i + ${lines})); sleep 0.002; done; echo end`;

function expectUnbroken(stdout: Buffer): void {
  const lines = stdout.toString().split("\n");
  expect(lines.slice(-2)).toEqual(["end", ""]);
  expect(lines.slice(0, -2).findIndex((line, index) => line !== String(index + 1))).toBe(-1);
}

function residentBytes(): number {
  const status = readFileSync(`/proc/${daemon.child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/u.exec(status)?.[1]) * 1024;
}

/** Attaches over a raw socket that is never read from. */
function attachDeaf(processId: string) {
  const body = Buffer.from(JSON.stringify({ processId }));
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  body.copy(frame, 5);
  const socket = connect(Number(new URL(daemon.baseUrl).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(
    `POST /exec.v1.Processes/Attach HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/connect+json\r\ncontent-length: ${frame.length}\r\n\r\n`,
  );
  socket.write(frame);
  return socket;
}

test("a reader that never reads is cut off in seconds, holds no memory, and no other reader notices", async () => {
  await daemon.processes.start(shell("stalled", counting("stop-stalled")));
  const before = residentBytes();
  const fdsBefore = (await daemon.control.ping({ nonce: "n" })).openFds;
  const steady = gather(daemon, "stalled");
  const deaf = Array.from({ length: 20 }, () => attachDeaf("stalled"));
  const openFds = async () => (await daemon.control.ping({ nonce: "n" })).openFds;
  // Attached they hold a descriptor each; once their buffers are full nothing more can be handed to them.
  await until("they are attached", async () => ((await openFds()) >= fdsBefore + 20 ? true : undefined));
  await until("they are cut off", async () => ((await openFds()) < fdsBefore + 5 ? true : undefined), 40_000);
  expect(residentBytes() - before).toBeLessThan(150 * 1024 * 1024);
  stop("stop-stalled");
  expectUnbroken((await steady).stdout);
  for (const socket of deaf) socket.destroy();
}, 60_000);

test("row 3: a thousand readers that come and go lose the steady one nothing", async () => {
  await daemon.processes.start(shell("busy", counting("stop-busy", 20)));
  const steady = gather(daemon, "busy");
  let started = 0;
  const firstKinds: (string | undefined)[] = [];
  /** Leaves after some events, or at any moment, also in the middle of a frame. */
  async function visit(number: number): Promise<void> {
    const leaving = new AbortController();
    const leaveAfter = number % 4;
    const timer =
      number % 2 === 0 ? setTimeout(() => leaving.abort(), Math.floor(Math.random() * 30)) : undefined;
    let count = 0;
    try {
      const events = daemon.processes.attach({ processId: "busy" }, { signal: leaving.signal });
      for await (const { event } of events) {
        if (count === 0) firstKinds.push(event?.kind.case);
        count += 1;
        if (timer === undefined && count > leaveAfter) leaving.abort();
      }
    } catch {
      // Leaving in the middle is the point.
    } finally {
      clearTimeout(timer);
    }
  }
  async function comeAndGo(): Promise<void> {
    while (started < 1000) {
      started += 1;
      await visit(started);
    }
  }
  await Promise.all(Array.from({ length: 8 }, comeAndGo));
  stop("stop-busy");
  const { stdout, events } = await steady;
  expect(events.filter(({ kind }) => kind.case === "gap")).toEqual([]);
  expectUnbroken(stdout);
  expect([...new Set(firstKinds)]).toEqual(["started"]);
  expect(firstKinds.length).toBeGreaterThanOrEqual(500);
}, 240_000);

test("output is on its way within 50 ms of its writing", async () => {
  await daemon.processes.start(shell("prompt-output", "for i in $(seq 12); do date +%s%N; sleep 0.1; done"));
  const delaysMs: number[] = [];
  for await (const { event } of daemon.processes.attach({ processId: "prompt-output" })) {
    if (event?.kind.case !== "output") continue;
    const writtenAtMs = Number(Buffer.from(event.kind.value.data).toString().slice(0, 13));
    delaysMs.push(Date.now() - writtenAtMs);
  }
  expect(delaysMs).toHaveLength(12);
  // The middle one: on a busy machine a single one may be late for reasons that aren't ours.
  expect(delaysMs.sort((left, right) => left - right)[6]).toBeLessThan(50);
});

test("a start whose caller gives up at any moment leaves no lock, and its id still means one run", async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `given-up-${index}`);
  await Promise.all(
    ids.map(async (id, index) => {
      const leaving = new AbortController();
      const starting = daemon.processes
        .start(shell(id, `echo run >> ${id}`), { signal: leaving.signal })
        .catch(() => undefined);
      await delay(index * 2);
      leaving.abort();
      await starting;
    }),
  );
  for (const id of ids) {
    await daemon.processes.start(shell(id, `echo run >> ${id}`));
    const { execution } = await daemon.processes.wait({ processId: id, waitMs: 20_000 });
    expect(execution?.exited?.code, id).toBe(0);
    expect(readFileSync(join(daemon.workspace, id), "utf8")).toBe("run\n");
  }
  const { executions } = await daemon.processes.list({});
  expect(
    executions.filter(({ processId, state }) => ids.includes(processId) && state === ExecutionState.RUNNING),
  ).toEqual([]);
}, 60_000);

test("500 runs give each its own exit code and all of its output, and leave no zombie", async () => {
  let next = 0;
  const wrong: string[] = [];
  async function work(): Promise<void> {
    while (next < 500) {
      const index = next;
      next += 1;
      await daemon.processes.start(
        shell(`many-${index}`, `printf %s ${"x".repeat(index % 7)}y; exit ${index % 100}`),
      );
      const { events, stdout } = await gather(daemon, `many-${index}`);
      const exited = events.find(({ kind }) => kind.case === "exited")?.kind;
      const code = exited?.case === "exited" ? exited.value.code : undefined;
      if (code !== index % 100 || stdout.length !== (index % 7) + 1)
        wrong.push(`${index}: ${code}, ${stdout.length}`);
    }
  }
  await Promise.all(Array.from({ length: 100 }, work));
  expect(wrong).toEqual([]);
  await daemon.processes.start(
    shell("zombies", "ps -eo stat=,ppid=,args= | grep '^Z' | grep -v 'grep' || true"),
  );
  const zombies = (await gather(daemon, "zombies")).stdout.toString().split("\n");
  expect(zombies.filter((line) => line.includes(` ${daemon.child.pid} `))).toEqual([]);
}, 120_000);

test("a command leads a session of its own without a terminal, so that none can stop it", async () => {
  await daemon.processes.start(
    shell("session", "ps -o sid=,tty= -p $$; echo $$; sleep 0.1 & wait; echo over"),
  );
  const { stdout, events } = await gather(daemon, "session");
  const [facts = "", pid, over] = stdout.toString().trim().split("\n");
  expect(facts.trim().split(/\s+/u)).toEqual([expect.any(String), "?"]);
  expect([facts.trim().split(/\s+/u)[0], over]).toEqual([pid, "over"]);
  expect(kindsOf(events).at(-1)).toBe("closed");
});

test("a reader that comes late gets the newest output and is told what it missed", async () => {
  await daemon.processes.start(shell("late", "seq 1 2500000; echo newest"));
  await until("it has ended", async () => {
    const { execution } = await daemon.processes.wait({ processId: "late", waitMs: 5_000 });
    return execution?.state === ExecutionState.RUNNING ? undefined : true;
  });
  const events: Event[] = [...(await gather(daemon, "late")).events];
  const kinds = kindsOf(events);
  expect([kinds[0], kinds.includes("gap")]).toEqual(["started", true]);
  expect(joinOutput(events, 1).toString().endsWith("2500000\nnewest\n")).toBe(true);
});
