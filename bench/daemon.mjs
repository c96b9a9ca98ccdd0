/**
 * The daemon's budgets for commands: another client's Ping while one floods and while many run, readers that are slow
 * or come and go, many starts at once, and the end of a session.
 */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { daemonToken, openDaemon } from "./measure/daemon-clients.mjs";
import { readResidentMb } from "./measure/host-process.mjs";
import { line, median } from "./measure/statistics.mjs";
import { whilePinging } from "./measure/while-pinging.mjs";

const token = daemonToken;
const underLoadMs = 5_000;
const concurrent = 100;
const startsInARow = 100;
const reconnects = 100;
/** 200 events of the largest page that a reader gets */
const unreadBytes = 200 * 256 * 1024;
const patientMs = 60_000;

let count = 0;
const nextId = (kind) => {
  count += 1;
  return `${kind}-${count}`;
};
const shell = (processId, value) => ({ processId, command: { case: "shell", value } });
const end = async ({ processes }, processId) => {
  await processes.signal({ processId, name: "SIGKILL", scope: 2 });
  await processes.wait({ processId, waitMs: patientMs });
};

/** Attaches over a raw socket that nobody reads from. */
function attachDeaf({ rpcPort }, processId) {
  const body = Buffer.from(JSON.stringify({ processId }));
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  body.copy(frame, 5);
  const socket = connect(rpcPort, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(
    `POST /exec.v1.Processes/Attach HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/connect+json\r\ncontent-length: ${frame.length}\r\n\r\n`,
  );
  socket.write(frame);
  return socket;
}

/** A command that writes without end, and a reader that takes as much of it as it can. */
async function flood(daemon) {
  const id = nextId("flood");
  await daemon.processes.start(shell(id, "exec yes 0123456789012345678901234567890123456789"));
  const reading = readToEnd(daemon, id);
  const { ping } = await whilePinging({ url: daemon.url, token }, () => delay(underLoadMs));
  await end(daemon, id);
  await reading;
  return ping;
}

/** As many as agents have at once: each says something now and then and is read. */
async function longCommands(daemon) {
  const ids = Array.from({ length: concurrent }, () => nextId("long"));
  const readers = [];
  const { ping } = await whilePinging({ url: daemon.url, token }, async () => {
    for (const id of ids) {
      await daemon.processes.start(shell(id, "while :; do echo working; sleep 1; done"));
      readers.push(readToEnd(daemon, id));
    }
    await delay(underLoadMs);
  });
  for (const id of ids) await end(daemon, id);
  await Promise.all(readers);
  return ping;
}

async function readToEnd({ processes }, processId) {
  for await (const { event } of processes.attach({ processId })) if (event?.kind.case === "closed") break;
}

async function slowConsumer(daemon) {
  const id = nextId("slow");
  await daemon.processes.start(shell(id, `sleep 1; head -c ${unreadBytes} /dev/zero`));
  const before = readResidentMb(daemon.pid);
  const socket = attachDeaf(daemon, id);
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, readResidentMb(daemon.pid));
  }, 20);
  await daemon.processes.wait({ processId: id, waitMs: patientMs });
  clearInterval(timer);
  socket.destroy();
  return peak - before;
}

async function reconnectStorm(daemon) {
  const id = nextId("storm");
  await daemon.processes.start(shell(id, "while :; do echo here; sleep 0.05; done"));
  const openFds = async () => (await daemon.control.ping({ nonce: "n" })).openFds;
  const before = await openFds();
  for (let at = 0; at < reconnects; at += 1) {
    const leaving = new AbortController();
    try {
      for await (const { event } of daemon.processes.attach({ processId: id }, { signal: leaving.signal }))
        if (event?.kind.case === "output") leaving.abort();
    } catch {
      // Leaving in the middle is the point.
    }
  }
  await delay(1000);
  const extra = (await openFds()) - before;
  await end(daemon, id);
  return Math.max(0, extra);
}

async function starts(daemon) {
  const took = [];
  for (let at = 0; at < startsInARow; at += 1) {
    const processId = nextId("start");
    const startedMs = performance.now();
    await daemon.processes.start({ processId, command: { case: "argv", value: { args: ["/bin/true"] } } });
    took.push(performance.now() - startedMs);
    await daemon.processes.wait({ processId, waitMs: patientMs });
  }
  took.sort((left, right) => left - right);
  return { p50: median(took), p95: took[Math.floor(took.length * 0.95)] };
}

async function atOnce(daemon) {
  const startedMs = performance.now();
  const codes = await Promise.all(
    Array.from({ length: concurrent }, async (_, at) => {
      const processId = nextId("many");
      await daemon.processes.start(shell(processId, `sleep 0.5; exit ${at}`));
      return (await daemon.processes.wait({ processId, waitMs: patientMs })).execution.exited?.code;
    }),
  );
  if (codes.some((code, at) => code !== at)) throw new Error(`exit codes are wrong: ${codes}`);
  return performance.now() - startedMs;
}

/** The end of a session whose commands ignore TERM, and have left others behind. */
async function endOfSession(daemon) {
  const sessionId = nextId("session");
  await daemon.shells.create({ sessionId });
  const left = "for i in 1 2 3; do (trap '' TERM; exec setsid sleep 600) > /dev/null 2>&1 & done";
  await daemon.shells.run({ sessionId, processId: nextId("left"), command: left, settleMs: 10_000 });
  await daemon.shells.run({
    ...{ sessionId, processId: nextId("deaf"), command: "trap '' TERM; while :; do sleep 1; done" },
    background: true,
  });
  const startedMs = performance.now();
  await daemon.shells.end({ sessionId });
  return performance.now() - startedMs;
}

async function measureRound(folder) {
  await using daemon = await openDaemon(folder);
  await starts(daemon);
  const seen = {
    start: await starts(daemon),
    atOnceMs: await atOnce(daemon),
    floodPing: await flood(daemon),
    longPing: await longCommands(daemon),
    slowMb: await slowConsumer(daemon),
    extraFds: await reconnectStorm(daemon),
    endMs: await endOfSession(daemon),
  };
  return seen;
}

const atMost = (bound, unit) => ({ unit, bound: `≤ ${bound} ${unit}`, met: (value) => value <= bound });

export async function benchDaemon({ rounds, report }) {
  const all = [];
  for (let round = 0; round < rounds; round += 1) {
    await using temp = await createTempFolder("bench-daemon");
    const seen = await measureRound(temp.path);
    all.push(seen);
    report(`round ${round + 1}: ${JSON.stringify(seen)}`);
  }
  const values = (pick) => all.map(pick);
  return [
    line(
      "Ping p95 while a command floods",
      values((one) => one.floodPing.p95),
      atMost(100, "ms"),
    ),
    line(
      `Ping p50 beside ${concurrent} commands`,
      values((one) => one.longPing.p50),
      atMost(50, "ms"),
    ),
    line(
      `Ping p99 beside ${concurrent} commands`,
      values((one) => one.longPing.p99),
      atMost(150, "ms"),
    ),
    line(
      "memory that 200 unread events cost",
      values((one) => one.slowMb),
      atMost(150, "MB"),
    ),
    line(
      `descriptors left by ${reconnects} reconnects`,
      values((one) => one.extraFds),
      atMost(16, ""),
    ),
    line(
      "end of a session that ignores TERM",
      values((one) => one.endMs),
      atMost(3000, "ms"),
    ),
    line(
      "start of a command, p95",
      values((one) => one.start.p95),
      atMost(100, "ms"),
    ),
    line(
      "start of a command, p50",
      values((one) => one.start.p50),
      { unit: "ms" },
    ),
    line(
      `${concurrent} commands of half a second at once`,
      values((one) => one.atOnceMs),
      { unit: "ms" },
    ),
  ];
}
