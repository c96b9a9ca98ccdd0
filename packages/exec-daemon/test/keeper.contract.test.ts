/**
 * What every way of keeping executions promises, through the daemon. The whole suites run with the one that is chosen by
 * itself; `SAND_KEEPER=node` in front of the tests runs all of them with the other.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSameProcess } from "@sand/node-kit";
import { SignalScope } from "@sand/protocol/exec";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readClaim, readStarted } from "../src/ledger/records.ts";
import { gather, kindsOf, shell, startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";
import { hasShim } from "./shim-world.ts";

const keepers = [...(hasShim ? ["shim"] : []), "node"];

describe.each(keepers)("executions kept by %s", (keeper) => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon({ SAND_KEEPER: keeper });
  });
  afterAll(() => daemon.dispose());

  async function exitOf(processId: string) {
    const { execution } = await daemon.processes.wait({ processId, waitMs: 25_000 });
    return execution?.exited;
  }

  test("capabilities say which it is, and why not the other", async () => {
    const { capabilities } = await daemon.control.capabilities({});
    const native = capabilities.find(({ name }) => name === "native-keeper");
    expect(native).toMatchObject({
      enforced: keeper === "shim",
      reason: keeper === "shim" ? "" : "SAND_KEEPER is node",
    });
  });

  test.each([
    ["exit 3", { code: 3, reason: "exited" }],
    ["nonexistent-program", { code: 127, reason: "exited" }],
    ["kill -9 $$", { signal: "SIGKILL", reason: "signaled" }],
  ])("the end is reported as it was: %s", async (text, end) => {
    await daemon.processes.start(shell(`end of ${text}`, text));
    expect(await exitOf(`end of ${text}`)).toMatchObject(end);
  });

  test("output, exit and closing come in order and without a hole", async () => {
    await daemon.processes.start(shell("events", "echo out; echo err >&2; printf '\\377'"));
    const { events, stdout, stderr } = await gather(daemon, "events");
    expect(stdout).toEqual(Buffer.from("6f75740aff", "hex"));
    expect(stderr.toString()).toBe("err\n");
    expect(kindsOf(events).slice(-2)).toEqual(["exited", "closed"]);
    expect(events.map(({ seq }) => Number(seq))).toEqual(events.map((_, index) => index + 1));
  });

  test("input arrives whole and once, and scripts may open their streams again", async () => {
    const text = "head -c 300000 | sha256sum > /dev/stdout; cat > /dev/stderr";
    await daemon.processes.start({ ...shell("input", text), stdin: true });
    const data = Buffer.alloc(300_000, "0123456789");
    for (let at = 0; at < data.length; at += 100_000) {
      const piece = { processId: "input", offset: BigInt(at), data: data.subarray(at, at + 100_000) };
      for (const write of [piece, piece]) await daemon.processes.write(write);
    }
    await daemon.processes.write({ processId: "input", offset: 300_000n, data: Buffer.from("rest") });
    await daemon.processes.closeStdin({ processId: "input" });
    const { createHash } = await import("node:crypto");
    const { stdout, stderr } = await gather(daemon, "input");
    expect(stdout.toString()).toContain(createHash("sha256").update(data).digest("hex"));
    expect(stderr.toString()).toBe("rest");
  });

  test("a stream that something else holds is reported as left open, and the end at once", async () => {
    await daemon.processes.start(shell("held", "sleep 300 & exit 0"));
    const { events } = await gather(daemon, "held");
    expect(events.at(-1)?.kind).toMatchObject({ case: "closed", value: { leftOpen: true } });
    await daemon.processes.signal({ processId: "held", name: "SIGKILL", scope: SignalScope.TREE });
  });

  test("a life limit ends the whole group, TERM first and KILL for who doesn't listen", async () => {
    const text = "trap '' TERM; sh -c \"trap '' TERM; sleep 300\" & wait; sleep 300";
    await daemon.processes.start({ ...shell("limit", text), killMs: 200n });
    expect(await exitOf("limit")).toMatchObject({ signal: "SIGKILL", timedOut: true, reason: "timed-out" });
  });

  test("a flood keeps its beginning and its end, and the gap between them is named", async () => {
    await daemon.processes.start(shell("flood", "seq 1 3000000"));
    const { events, stdout } = await gather(daemon, "flood");
    const gaps = events.flatMap(({ kind }) => (kind.case === "gap" ? [kind.value] : []));
    const lost = gaps.reduce((sum, { from, to }) => sum + Number(to - from), 0);
    expect(stdout.length + lost).toBe(22_888_896);
    expect(stdout.toString("latin1").endsWith("\n3000000\n")).toBe(true);
  });

  test("a command outlives the daemon, and the next one collects its end, run once", async () => {
    const request = shell("survivor", "echo run >> runs; while [ ! -e go ]; do sleep 0.05; done; exit 7");
    await daemon.processes.start(request);
    await daemon.kill();
    daemon = await daemon.again();
    expect(await daemon.processes.start(request)).toMatchObject({ existing: true });
    writeFileSync(join(daemon.workspace, "go"), "");
    expect(await exitOf("survivor")).toMatchObject({ code: 7 });
    expect(readFileSync(join(daemon.workspace, "runs"), "utf8")).toBe("run\n");
  });

  test("a command whose keeper is killed has an unknown outcome and leaves nothing", async () => {
    await daemon.processes.start(shell("lost", "sleep 300 & sleep 301"));
    process.kill(readClaim(join(daemon.dataRoot, "executions/lost"))?.pid ?? 0, "SIGKILL");
    const { events } = await gather(daemon, "lost");
    expect(kindsOf(events)).toEqual(["started", "unknown", "closed"]);
  });

  test("a command is ended, and its keeper with it, when its owner is gone and the data root removed", async () => {
    await daemon.processes.start(shell("forgotten", "sleep 300"));
    const folder = join(daemon.dataRoot, "executions/forgotten");
    const both = [readClaim(folder), readStarted(folder)];
    await daemon.kill();
    rmSync(daemon.dataRoot, { recursive: true });
    const lives = (one: (typeof both)[number]) => one === undefined || isSameProcess(one);
    await until("nothing is left", () => !both.some(lives) || undefined, 60_000);
  });
});
