/** Links to a terminal that the native shim keeps: what a daemon that comes back relies on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chooseKeeper, type KeeperChoice } from "../src/keeper/choose-keeper.ts";
import { createKeeperPool, type KeeperPool } from "../src/keeper/keeper-pool.ts";
import { openTerminalLink } from "../src/keeper/terminal-link.ts";
import { type Ledger, openLedger } from "../src/ledger/ledger.ts";
import type { TrackedExecution } from "../src/ledger/tracked-execution.ts";
import { until } from "./daemon-process.ts";

let dataRoot: string;
let ledger: Ledger;
let keepers: KeeperPool;
let choice: KeeperChoice;
beforeAll(async () => {
  // Longer than the address of a socket may be.
  dataRoot = join(mkdtempSync(join(tmpdir(), "sand-link-")), "d".repeat(120));
  const log = createLogger({ name: "test", level: "error" });
  ledger = openLedger({ dataRoot, enabled: true, clock: systemClock, log });
  const env = { PATH: process.env.PATH ?? "" };
  choice = await chooseKeeper({ mode: "shim", dataRoot, selfCommand: [process.execPath], env });
  keepers = createKeeperPool(choice.pool);
});
afterAll(() => {
  keepers.close();
  ledger.close();
  choice.sweep();
  rmSync(join(dataRoot, ".."), { recursive: true, force: true });
});

async function startTerminal(executionId: string, script: string): Promise<TrackedExecution> {
  const execution = await ledger.add({
    ...{ version: 1, executionId, digest: "", acceptedAtMs: 0, background: true },
    lineage: { agentId: "", turnId: "" },
    launch: {
      ...{ argv: ["/bin/sh", "-c", script], env: { PATH: process.env.PATH ?? "" }, cwd: "/" },
      ...{ stdin: true, killMs: 0, sandboxed: false, terminal: { cols: 80, rows: 24 } },
    },
  });
  execution.follow();
  await keepers.give(execution.folder);
  await until("it has started", () => execution.started !== undefined || undefined);
  return execution;
}

function listen(execution: TrackedExecution, after: number) {
  const pieces: { readonly offset: number; readonly bytes: Buffer }[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const link = openTerminalLink({
    ...{ execution, after },
    onOutput: (bytes, offset) => pieces.push({ offset, bytes: Buffer.from(bytes) }),
    onEnd: resolve,
  });
  const text = (): string => Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
  return {
    link,
    ended,
    pieces,
    text,
    heard: (word: string) => until(word, () => text().includes(word) || undefined),
  };
}

test("a link that is opened again from an offset gets the rest, and no byte twice", async () => {
  const execution = await startTerminal(
    "again",
    "stty -echo; echo before; read x; seq 1 3000; read y; echo after",
  );
  const first = listen(execution, 0);
  await first.heard("before");
  await first.link.write(Buffer.from("\n"));
  await first.heard("\n1500\r");
  // As when a daemon dies: nobody listens, and the shim goes on.
  first.link.close();
  const known = first.text().indexOf("1500");
  const second = listen(execution, known);
  await second.heard("3000");
  await second.link.write(Buffer.from("\n"));
  await second.ended;
  const lines = Array.from({ length: 3000 }, (_, index) => `${index + 1}\r\n`).join("");
  expect(first.text().slice(0, known) + second.text()).toBe(`before\r\n${lines}after\r\n`);
  expect(second.pieces[0]?.offset).toBe(known);
});

test("the newest link counts, and the one before is told when the terminal ends", async () => {
  const execution = await startTerminal("newest", "stty -echo; echo ready; read x; echo got $x");
  const first = listen(execution, 0);
  await first.heard("ready");
  const second = listen(execution, 0);
  await second.heard("ready");
  await second.link.write(Buffer.from("it\n"));
  await Promise.all([first.ended, second.ended]);
  expect([first.text(), second.text()]).toEqual(Array(2).fill("ready\r\ngot it\r\n"));
});

test("a terminal whose link isn't read waits, and at its end all of it is there", async () => {
  const execution = await startTerminal("paused", "seq 1 60000; echo end");
  const { link, ended, text, pieces } = listen(execution, 0);
  link.pause();
  await until("the shim has stopped reading", async () => {
    const before = execution.changes.version;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return execution.changes.version === before || undefined;
  });
  expect(execution.exit).toBe(undefined);
  const held = pieces.length;
  link.resume();
  await ended;
  expect(pieces.length).toBeGreaterThan(held);
  expect(text().endsWith("60000\r\nend\r\n")).toBe(true);
  expect(text()).toHaveLength(408_894 + 5);
});

test("what a stranger says on a terminal's socket closes it, and the terminal goes on", async () => {
  const { createConnection } = await import("node:net");
  const { openSync, closeSync } = await import("node:fs");
  const execution = await startTerminal("strange", "stty -echo; echo ready; read x; echo got $x");
  for (const bytes of [[9, 0, 0, 0, 0], [2, 255, 255, 255, 255], [3, 0, 0, 0, 9], [0]]) {
    const fd = openSync(execution.folder, "r");
    const socket = createConnection({ path: `/proc/self/fd/${fd}/terminal.sock` });
    socket.on("error", () => undefined);
    socket.once("connect", () => closeSync(fd));
    socket.end(Buffer.from(bytes));
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
  }
  const { link, ended, text, heard } = listen(execution, 0);
  await heard("ready");
  await link.write(Buffer.from("it\n"));
  await ended;
  expect(text()).toBe("ready\r\ngot it\r\n");
});
