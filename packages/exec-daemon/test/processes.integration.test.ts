import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Event, ExecutionState, SignalScope, StdinState } from "@sand/protocol/exec";
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

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

async function closedExecution(processId: string) {
  const { execution } = await daemon.processes.wait({ processId, waitMs: 20_000 });
  return execution;
}

async function codeOf(work: Promise<unknown>): Promise<string | null> {
  const failure = ConnectError.from(
    await work.then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  return failure.metadata.get("x-sand-code");
}

test("fifty starts of one id and body at the same time are one process", async () => {
  const request = shell("keyed", "echo run >> runs; sleep 0.3");
  const answers = await Promise.all(Array.from({ length: 50 }, () => daemon.processes.start(request)));
  expect(new Set(answers.map((answer) => answer.execution?.pid)).size).toBe(1);
  expect(answers.filter((answer) => !answer.existing)).toHaveLength(1);
  await closedExecution("keyed");
  expect(readFileSync(join(daemon.workspace, "runs"), "utf8")).toBe("run\n");
});

test("the same id with another body is a conflict, whatever differs", async () => {
  await daemon.processes.start({ ...shell("conflict", "true"), env: { A: "1", B: "2" } });
  const same = await daemon.processes.start({ ...shell("conflict", "true"), env: { B: "2", A: "1" } });
  expect(same.existing).toBe(true);
  expect(await codeOf(daemon.processes.start({ ...shell("conflict", "true"), env: { A: "1" } }))).toBe(
    "exec/key-conflict",
  );
  expect(
    await codeOf(
      daemon.processes.start({ ...shell("conflict", "true"), env: { A: "1", B: "2" }, killMs: 5n }),
    ),
  ).toBe("exec/key-conflict");
});

test.each([
  ["exit code", "exit 3", { code: 3, signal: undefined, reason: "exited" }],
  ["not found", "nonexistent-program", { code: 127, signal: undefined, reason: "exited" }],
  ["not executable", "./plain", { code: 126, signal: undefined, reason: "exited" }],
  ["signal", "kill -9 $$", { code: undefined, signal: "SIGKILL", reason: "signaled" }],
])("the end is reported as it was: %s", async (name, text, end) => {
  writeFileSync(join(daemon.workspace, "plain"), "echo", { mode: 0o644 });
  await daemon.processes.start(shell(`end-${name}`, text));
  const exited = (await closedExecution(`end-${name}`))?.exited;
  expect({ code: exited?.code, signal: exited?.signal, reason: exited?.reason }).toEqual(end);
});

test("a program given with its arguments gets them unchanged, and a missing one is 127", async () => {
  await daemon.processes.start({
    processId: "argv",
    command: { case: "argv", value: { args: ["printf", "%s|", "a b", "$HOME", ""] } },
  });
  expect((await gather(daemon, "argv")).stdout.toString()).toBe("a b|$HOME||");
  await daemon.processes.start({
    processId: "argv-2",
    command: { case: "argv", value: { args: ["./nowhere"] } },
  });
  expect((await closedExecution("argv-2"))?.exited?.code).toBe(127);
});

test("events are numbered without a hole: started, output, exited, closed", async () => {
  await daemon.processes.start(shell("events", "echo out; echo err >&2"));
  const { events } = await gather(daemon, "events");
  expect(kindsOf(events)).toEqual(["started", "output", "output", "exited", "closed"]);
  expect(events.map((event) => Number(event.seq))).toEqual([1, 2, 3, 4, 5]);
});

test("bytes that aren't UTF-8 arrive as they were written", async () => {
  await daemon.processes.start(
    shell("raw", "printf '\\377\\000\\376ok'; head -c 300000 /dev/urandom | tee raw.bin"),
  );
  const { stdout } = await gather(daemon, "raw");
  expect(
    stdout.equals(
      Buffer.concat([
        Buffer.from([255, 0, 254]),
        Buffer.from("ok"),
        readFileSync(join(daemon.workspace, "raw.bin")),
      ]),
    ),
  ).toBe(true);
});

test("attaching from an offset again and again loses no byte and repeats none", async () => {
  await daemon.processes.start(shell("offsets", "for i in $(seq 1 4000); do echo line-$i; done"));
  const whole = (await gather(daemon, "offsets")).stdout;
  expect(whole.toString().split("\n")).toHaveLength(4001);
  for (const stdout of [0, 1, 777, 20_000, whole.length - 1, whole.length]) {
    const events: Event[] = [];
    for await (const { event } of daemon.processes.attach({
      processId: "offsets",
      after: { stdout: BigInt(stdout) },
    })) {
      if (event !== undefined) events.push(event);
    }
    expect(kindsOf(events).at(0)).toBe("started");
    expect(joinOutput(events, 1).equals(whole.subarray(stdout))).toBe(true);
  }
});

test("reading page by page gives the same as one stream", async () => {
  await daemon.processes.start(shell("pages", "head -c 500000 /dev/zero | tr '\\0' x"));
  const events: Event[] = [];
  let cursor = { seq: 0n, stdout: 0n, stderr: 0n };
  for (let ended = false; !ended; ) {
    const page = await daemon.processes.read({
      processId: "pages",
      after: cursor,
      waitMs: 5000,
      maxBytes: 10_000,
    });
    events.push(...page.events.filter((event) => event.seq > cursor.seq));
    if (page.cursor !== undefined) cursor = page.cursor;
    ended = page.ended;
  }
  expect(joinOutput(events, 1)).toHaveLength(500_000);
  expect(kindsOf(events).slice(-2)).toEqual(["exited", "closed"]);
});

test("output beyond the bounds is dropped in the middle, and a gap says which bytes", async () => {
  await daemon.processes.start(shell("flood", "seq 1 3000000"));
  const { events } = await gather(daemon, "flood");
  const gaps = events.flatMap(({ kind }) => (kind.case === "gap" ? [kind.value] : []));
  const total = 22_888_896;
  expect(gaps.length).toBeGreaterThan(0);
  const missing = gaps.reduce((sum, gap) => sum + Number(gap.to - gap.from), 0);
  expect(joinOutput(events, 1).length + missing).toBe(total);
  expect(joinOutput(events, 1).subarray(-8).toString()).toBe("3000000\n");
  for (const [index, event] of events.entries()) {
    const before = events[index - 1];
    if (before !== undefined && event.kind.case !== "gap") expect(event.seq).toBe(before.seq + 1n);
  }
});

test("a command that left something behind with its pipe is reported as ended at once, and closed later", async () => {
  const startedAtMs = Date.now();
  await daemon.processes.start(shell("grandchild", "sleep 60 & echo done"));
  const seen: [string, number][] = [];
  for await (const { event } of daemon.processes.attach({ processId: "grandchild" })) {
    seen.push([event?.kind.case ?? "", Date.now() - startedAtMs]);
    if (event?.kind.case === "closed") expect(event.kind.value.leftOpen).toBe(true);
  }
  expect(seen.map(([kind]) => kind)).toEqual(["started", "output", "exited", "closed"]);
  const [exitedMs, closedMs] = [seen[2]?.[1] ?? 0, seen[3]?.[1] ?? 0];
  expect(closedMs - exitedMs).toBeGreaterThan(1000);
  // It can still be found and ended, by its marker.
  const { delivered } = await daemon.processes.signal({
    processId: "grandchild",
    name: "SIGKILL",
    scope: SignalScope.TREE,
  });
  expect(delivered).toBe(true);
});

test("killing the group frees the port that a child of it holds", async () => {
  const listener =
    "require('net').createServer().listen(0,'127.0.0.1',function(){console.log(this.address().port)})";
  await daemon.processes.start(shell("server", `${process.execPath} -e "${listener}" & wait`));
  const port = Number(
    await until("the port is known", async () => {
      const page = await daemon.processes.read({ processId: "server", waitMs: 1000 });
      return joinOutput(page.events, 1).toString().trim() || undefined;
    }),
  );
  await daemon.processes.signal({
    processId: "server",
    name: "SIGTERM",
    scope: SignalScope.GROUP,
  });
  await until("the port is free", () => canListen(port).then((free) => free || undefined), 5000);
});

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

test("a life limit ends the whole group, TERM first and KILL for who doesn't listen", async () => {
  await daemon.processes.start({
    ...shell("limit", "trap '' TERM; sleep 60 & sleep 61; sleep 62"),
    killMs: 200n,
  });
  const execution = await closedExecution("limit");
  expect(execution?.exited).toMatchObject({ timedOut: true, reason: "timed-out" });
});

test("a command without input reads end of file at once", async () => {
  await daemon.processes.start(shell("no-input", "cat; echo over"));
  expect((await gather(daemon, "no-input")).stdout.toString()).toBe("over\n");
});

test("input arrives whole and once, although each write is sent twice", async () => {
  await daemon.processes.start({ ...shell("input", "cat /dev/stdin | sha256sum; echo end"), stdin: true });
  const pieces = Array.from({ length: 16 }, (_, index) => Buffer.alloc(65_536, index + 65));
  let offset = 0n;
  for (const data of pieces) {
    const request = { processId: "input", offset, data };
    expect(await daemon.processes.write(request)).toMatchObject({ state: StdinState.ACCEPTED });
    expect(await daemon.processes.write(request)).toMatchObject({ state: StdinState.ACCEPTED });
    // A repeat that goes on beyond what is known adds only what is new.
    const longer = { ...request, data: Buffer.concat([data, Buffer.from("+")]) };
    expect(await daemon.processes.write(longer)).toMatchObject({ state: StdinState.ACCEPTED });
    offset += BigInt(data.length + 1);
  }
  expect(
    await daemon.processes.write({ processId: "input", offset: offset + 5n, data: Buffer.from("x") }),
  ).toMatchObject({
    state: StdinState.WRONG_OFFSET,
    nextOffset: offset,
  });
  await daemon.processes.closeStdin({ processId: "input" });
  const { createHash } = await import("node:crypto");
  const digest = createHash("sha256")
    .update(Buffer.concat(pieces.flatMap((piece) => [piece, Buffer.from("+")])))
    .digest("hex");
  expect((await gather(daemon, "input")).stdout.toString()).toBe(`${digest}  -\nend\n`);
});

test("200 short commands at once give each its own exit code", async () => {
  const numbers = Array.from({ length: 200 }, (_, index) => index);
  const codes = await Promise.all(
    numbers.map(async (index) => {
      await daemon.processes.start(shell(`short-${index}`, `exit ${index % 100}`));
      return (await closedExecution(`short-${index}`))?.exited?.code;
    }),
  );
  expect(codes).toEqual(numbers.map((index) => index % 100));
}, 90_000);

test("a command's environment has nothing of the daemon's but the allowed names", async () => {
  await daemon.processes.start({ ...shell("env", "env"), env: { CALL: "own" } });
  const names = (await gather(daemon, "env")).stdout
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.split("=")[0]);
  const allowed = [
    "PATH",
    "HOME",
    "LANG",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "CALL",
    "SAND_EXECUTION_ID",
    "PWD",
    "SHLVL",
    "_",
  ];
  expect(names.filter((name) => !allowed.includes(name ?? ""))).toEqual([]);
  expect(names).toContain("CALL");
});

test("a forgotten execution is unknown afterwards, and a running one can't be forgotten", async () => {
  await daemon.processes.start(shell("forget", "sleep 30"));
  expect(await codeOf(daemon.processes.forget({ processId: "forget" }))).toBe("exec/invalid");
  await daemon.processes.signal({ processId: "forget", name: "SIGKILL", scope: SignalScope.GROUP });
  await closedExecution("forget");
  expect(await daemon.processes.forget({ processId: "forget" })).toMatchObject({ existed: true });
  expect(await codeOf(daemon.processes.wait({ processId: "forget" }))).toBe("exec/unknown-execution");
  expect(existsSync(join(daemon.dataRoot, "executions", "forget"))).toBe(false);
});

test.each([
  ["an empty command", shell("bad-1", ""), "exec/invalid"],
  ["a terminal", { ...shell("bad-2", "true"), tty: true }, "exec/unsupported"],
  ["another user", { ...shell("bad-3", "true"), user: "nobody" }, "exec/unsupported"],
  ["a folder that isn't there", { ...shell("bad-4", "true"), cwd: "nowhere" }, "exec/invalid"],
  ["our own marker", { ...shell("bad-5", "true"), env: { SAND_EXECUTION_ID: "x" } }, "exec/invalid"],
])("a start is refused with a code: %s", async (_name, request, code) => {
  expect(await codeOf(daemon.processes.start(request))).toBe(code);
});

test("nothing is answered without the bearer", async () => {
  for (const authorization of ["", "Bearer local", "Bearer ", "Basic x"]) {
    for (const path of ["/exec.v1.Control/Ping", "/", "/health"]) {
      const response = await fetch(`${daemon.baseUrl}${path}`, {
        method: "POST",
        headers: { authorization },
        body: "{}",
      });
      expect(response.status).toBe(401);
    }
  }
});

test("a ping answers its nonce and how late the event loop is", async () => {
  const answer = await daemon.control.ping({ nonce: "n-1" });
  expect(answer).toMatchObject({ nonce: "n-1", pid: daemon.child.pid, workspaceRoot: daemon.workspace });
  expect(answer.openFds).toBeGreaterThan(5);
});

test("the list shows what runs", async () => {
  await daemon.processes.start({
    ...shell("listed", "sleep 30"),
    lineage: { agentId: "a", turnId: "t" },
    background: true,
  });
  const { executions } = await daemon.processes.list({});
  const mine = executions.find((execution) => execution.processId === "listed");
  expect(mine).toMatchObject({
    state: ExecutionState.RUNNING,
    background: true,
    lineage: { agentId: "a", turnId: "t" },
  });
  await daemon.processes.signal({ processId: "listed", name: "TERM", scope: SignalScope.LEADER });
  expect((await closedExecution("listed"))?.exited?.signal).toBe("SIGTERM");
});

test("a reader of a silent command hears that it still runs, again and again", async () => {
  await daemon.processes.start(shell("silent", "sleep 60"));
  let count = 0;
  for await (const { event } of daemon.processes.attach({ processId: "silent" })) {
    if (event?.kind.case === "keepalive") count += 1;
    if (count === 2) break;
  }
  expect(count).toBe(2);
  await daemon.processes.signal({ processId: "silent", name: "SIGKILL", scope: SignalScope.GROUP });
});

test("an unknown id is a typed answer", async () => {
  await expect(daemon.processes.wait({ processId: "never" })).rejects.toMatchObject({ code: Code.NotFound });
});
