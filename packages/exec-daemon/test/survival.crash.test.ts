/** What is left of executions when the daemon, or a keeper, dies by SIGKILL at a bad moment. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSameProcess } from "@sand/node-kit";
import { type Event, ExecutionState } from "@sand/protocol/exec";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readClaim, readStarted } from "../src/ledger/records.ts";
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
beforeEach(async () => {
  daemon = await startTestDaemon();
});
afterEach(() => daemon.dispose());

const folderOf = (processId: string): string => join(daemon.dataRoot, "executions", processId);
const runs = (): string => readFileSync(join(daemon.workspace, "runs"), "utf8");

/** Goes on when the test makes the file `go`, so that nothing depends on time. */
const untilGo = "while [ ! -e go ]; do sleep 0.05; done";
const go = (): void => writeFileSync(join(daemon.workspace, "go"), "");

test("a command outlives the daemon, and a restarted one follows it, run once", async () => {
  const request = shell("survivor", `echo run >> runs; echo before; ${untilGo}; echo after; exit 7`);
  const first = await daemon.processes.start(request);
  await daemon.kill();
  daemon = await daemon.again();
  const again = await daemon.processes.start(request);
  expect(again).toMatchObject({
    existing: true,
    execution: { pid: first.execution?.pid, state: ExecutionState.RUNNING },
  });
  const gathering = gather(daemon, "survivor");
  go();
  const { events, stdout } = await gathering;
  expect(stdout.toString()).toBe("before\nafter\n");
  expect(kindsOf(events)).toEqual(["started", "output", "output", "exited", "closed"]);
  expect((await daemon.processes.wait({ processId: "survivor" })).execution?.exited?.code).toBe(7);
  expect(runs()).toBe("run\n");
});

test("what ended while no daemon lived is collected by the next one", async () => {
  await daemon.processes.start(shell("orphan", `echo run >> runs; ${untilGo}; echo done`));
  await daemon.kill();
  go();
  await until(
    "the keeper has recorded the end",
    () => existsSync(join(folderOf("orphan"), "closed.json")) || undefined,
  );
  daemon = await daemon.again();
  expect((await gather(daemon, "orphan")).stdout.toString()).toBe("done\n");
  expect(
    await daemon.processes.start(shell("orphan", `echo run >> runs; ${untilGo}; echo done`)),
  ).toMatchObject({ existing: true });
  expect(runs()).toBe("run\n");
});

test("a reader that attaches again after the daemon died gets the rest, and no byte twice", async () => {
  await daemon.processes.start(shell("counter", `seq 1 2000; ${untilGo}; seq 2001 4000`));
  const seen: Event[] = [];
  for await (const { event } of daemon.processes.attach({ processId: "counter" })) {
    if (event !== undefined) seen.push(event);
    if (joinOutput(seen, 1).toString().includes("\n2000\n")) break;
  }
  await daemon.kill();
  daemon = await daemon.again();
  go();
  const after = { seq: seen.at(-1)?.seq ?? 0n, stdout: BigInt(joinOutput(seen, 1).length) };
  for await (const { event } of daemon.processes.attach({ processId: "counter", after }))
    if (event !== undefined) seen.push(event);
  expect(joinOutput(seen, 1).toString()).toBe(
    Array.from({ length: 4000 }, (_, index) => `${index + 1}\n`).join(""),
  );
});

test("a daemon that was told to end lets commands go on", async () => {
  await daemon.processes.start(shell("kept", `${untilGo}; echo kept`));
  daemon.child.kill("SIGTERM");
  await until("the daemon has ended", () => (daemon.child.exitCode === null ? undefined : true));
  expect(daemon.child.exitCode).toBe(0);
  expect(existsSync(join(daemon.dataRoot, "exec-daemon.json"))).toBe(false);
  daemon = await daemon.again();
  go();
  expect((await gather(daemon, "kept")).stdout.toString()).toBe("kept\n");
});

test("without its keeper a command is killed and its outcome is unknown, and it isn't run again", async () => {
  const request = shell("lost", "echo run >> runs; sleep 300 & sleep 301");
  await daemon.processes.start(request);
  const [claim, started] = [readClaim(folderOf("lost")), readStarted(folderOf("lost"))];
  await until("it has begun", () => existsSync(join(daemon.workspace, "runs")) || undefined);
  process.kill(claim?.pid ?? 0, "SIGKILL");
  const { events } = await gather(daemon, "lost");
  expect(kindsOf(events)).toEqual(["started", "unknown", "closed"]);
  expect(started !== undefined && isSameProcess(started)).toBe(false);
  expect((await daemon.processes.start(request)).execution?.state).toBe(ExecutionState.UNKNOWN);
  expect(runs()).toBe("run\n");
});

test("a keeper that dies while no daemon lives leaves an unknown outcome for the next one", async () => {
  await daemon.processes.start(shell("both", "sleep 300"));
  await daemon.kill();
  process.kill(readClaim(folderOf("both"))?.pid ?? 0, "SIGKILL");
  daemon = await daemon.again();
  expect((await daemon.processes.wait({ processId: "both", waitMs: 5000 })).execution).toMatchObject({
    state: ExecutionState.UNKNOWN,
    closed: true,
  });
});

test("an intent that no keeper claimed is started by the repeat, once", async () => {
  const request = shell("pending", "echo run >> runs");
  await daemon.processes.start(request);
  await gather(daemon, "pending");
  await daemon.kill();
  // As if the daemon had died between the intent and the order to a keeper.
  const { rmSync } = await import("node:fs");
  for (const name of readdirSync(folderOf("pending")))
    if (name !== "start.json") rmSync(join(folderOf("pending"), name));
  rmSync(join(daemon.workspace, "runs"));
  daemon = await daemon.again();
  expect((await daemon.processes.wait({ processId: "pending" })).execution?.state).toBe(
    ExecutionState.PENDING,
  );
  expect(await daemon.processes.start(request)).toMatchObject({ existing: false });
  await gather(daemon, "pending");
  expect(runs()).toBe("run\n");
});

test("with the ledger off a repeat is a second run, which is why there is one", async () => {
  await daemon.kill();
  daemon = await daemon.again({ SAND_EXEC_LEDGER: "off" });
  const request = shell("twice", "echo run >> runs");
  for (let count = 0; count < 2; count += 1) {
    expect(await daemon.processes.start(request)).toMatchObject({ existing: false });
    await gather(daemon, "twice");
  }
  expect(runs()).toBe("run\nrun\n");
});

test("a second daemon on the same data root is refused, and the first goes on", async () => {
  await expect(daemon.again()).rejects.toThrow("the daemon ended with 1");
  expect(await daemon.control.ping({ nonce: "n" })).toMatchObject({ nonce: "n" });
});

test("a stop reaches an intent that no keeper claimed: it never runs, and that is known", async () => {
  const request = shell("unstarted", "echo run >> runs");
  await daemon.processes.start(request);
  await gather(daemon, "unstarted");
  await daemon.kill();
  // What is left when the daemon dies right behind its intent.
  for (const name of readdirSync(folderOf("unstarted")))
    if (name !== "start.json") rmSync(join(folderOf("unstarted"), name));
  rmSync(join(daemon.workspace, "runs"));
  daemon = await daemon.again();
  expect(await daemon.processes.signal({ processId: "unstarted", name: "SIGTERM" })).toMatchObject({
    delivered: true,
  });
  const { events } = await gather(daemon, "unstarted");
  expect(kindsOf(events)).toEqual(["started", "exited", "closed"]);
  expect(await daemon.processes.start(request)).toMatchObject({ existing: true });
  expect(existsSync(join(daemon.workspace, "runs"))).toBe(false);
});

test("a copy that a killed daemon left beside the file it wrote is gone after the next start", async () => {
  const write = { path: "notes.txt", data: Buffer.from("whole"), operationId: "op" };
  await daemon.files.write(write);
  await daemon.kill();
  const [journal = ""] = readdirSync(join(daemon.dataRoot, "file-writes"));
  const record = join(daemon.dataRoot, "file-writes", journal);
  writeFileSync(record, readFileSync(record, "utf8").replace('"done":true', '"done":false'));
  const [half, others] = [".notes.txt.0123456789ab.tmp", [".notes.txt.swp", ".other.txt.0123456789ab.tmp"]];
  for (const name of [half, ...others]) writeFileSync(join(daemon.workspace, name), "half");
  daemon = await daemon.again();
  expect(readdirSync(daemon.workspace).sort()).toEqual([...others, "notes.txt"].sort());
});

/** Nothing can be recorded while an execution's folder is elsewhere, as on a full disk. */
function hideFolder(processId: string): () => void {
  const [folder, hidden] = [folderOf(processId), join(daemon.folder, "hidden")];
  renameSync(folder, hidden);
  return () => renameSync(hidden, folder);
}

test("an end that can't be recorded for a while is recorded as soon as it can", async () => {
  await daemon.processes.start(shell("patient", `${untilGo}; touch ended; exit 7`));
  const showFolder = hideFolder("patient");
  go();
  await until("the command has ended", () => existsSync(join(daemon.workspace, "ended")) || undefined);
  const keeper = readClaim(join(daemon.folder, "hidden"))?.pid ?? 0;
  await until("the keeper has seen it", () => childrenOf(keeper) === "" || undefined);
  showFolder();
  const { events } = await gather(daemon, "patient");
  expect(kindsOf(events)).toEqual(["started", "exited", "closed"]);
  expect((await daemon.processes.wait({ processId: "patient" })).execution?.exited?.code).toBe(7);
});

test("an execution that can't be settled for a while holds up neither itself nor others", async () => {
  for (const id of ["stuck", "other"]) await daemon.processes.start(shell(id, "sleep 300"));
  const keeperOf = (id: string): number => readClaim(folderOf(id))?.pid ?? 0;
  const [stuck, other] = [keeperOf("stuck"), keeperOf("other")];
  const showFolder = hideFolder("stuck");
  process.kill(stuck, "SIGKILL");
  await until("the daemon has tried", () => daemon.log().includes("execution.unsettled") || undefined);
  process.kill(other, "SIGKILL");
  expect(kindsOf((await gather(daemon, "other")).events)).toEqual(["started", "unknown", "closed"]);
  showFolder();
  expect(kindsOf((await gather(daemon, "stuck")).events)).toEqual(["started", "unknown", "closed"]);
});

test("a keeper whose execution was removed ends by itself", async () => {
  await daemon.processes.start(shell("removed", untilGo));
  const keeper = readClaim(folderOf("removed"));
  const isGone = () => (keeper !== undefined && !isSameProcess(keeper)) || undefined;
  rmSync(folderOf("removed"), { recursive: true });
  go();
  await until("the keeper is gone", isGone, 60_000);
});

function childrenOf(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
}

test("a discovery file that was lost or damaged is written again by the daemon that lives", async () => {
  const path = join(daemon.dataRoot, "exec-daemon.json");
  const before = readFileSync(path, "utf8");
  const readBack = () => (existsSync(path) && readFileSync(path, "utf8") === before) || undefined;
  rmSync(path);
  await until("the file is there again", readBack);
  writeFileSync(path, "{ not json");
  await until("the file is right again", readBack);
});
