/** What only the native shim can do for an execution, and that it leaves nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSameProcess } from "@sand/node-kit";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findShim } from "../src/keeper/find-shim.ts";
import { until } from "./daemon-process.ts";
import { hasShim, type ShimWorld, startShimWorld } from "./shim-world.ts";

describe.skipIf(!hasShim)("the native shim", () => {
  let world: ShimWorld;
  beforeAll(async () => {
    world = await startShimWorld();
  });
  afterAll(() => world.dispose());

  /** No zombie and no command below a keeper, whatever the test was about. */
  afterEach(async () => {
    for (const execution of world.ledger.list()) {
      const { claim } = execution;
      if (claim === undefined || execution.closed?.leftOpen === true) continue;
      await until("nothing is left", () => childrenOf(claim.pid) === "" || undefined);
    }
  });

  function childrenOf(pid: number): string {
    try {
      return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    } catch {
      return "";
    }
  }

  test("500 runs at once give each its own exit code", { timeout: 120_000 }, async () => {
    const ids = Array.from({ length: 500 }, (_, index) => index);
    const ends = await Promise.all(ids.map((index) => world.run(`code-${index}`, `exit ${index % 256}`)));
    expect(ends.map(({ code }) => code)).toEqual(ids.map((index) => index % 256));
    const keepers = new Set(ends.map(({ execution }) => execution.claim?.pid));
    // They are used again: five hundred processes would be a thousand forks.
    expect(keepers.size).toBeLessThan(500);
  });

  test("a program that can't be started is told by code and by reason", async () => {
    const missing = await world.run("missing", "", { argv: ["/no/such/program"] });
    expect(missing).toMatchObject({ code: 127, execution: { started: undefined } });
    expect(missing.execution.exit).toMatchObject({
      exit: { reason: "spawn-failed", message: "spawn /no/such/program ENOENT" },
    });
    expect(await world.run("folder", "", { argv: ["/tmp"] })).toMatchObject({ code: 126 });
    expect(await world.run("no-cwd", "true", { cwd: "/no/such/folder" })).toMatchObject({ code: 127 });
  });

  test("a shim takes the next order after a program that couldn't be started", async () => {
    const ends = [];
    for (let index = 0; index < 60; index += 1)
      ends.push(
        await world.run(`next-${index}`, "exit 7", index % 2 === 0 ? { argv: ["/no/such/program"] } : {}),
      );
    expect(ends.map(({ code }) => code)).toEqual(ends.map((_, index) => (index % 2 === 0 ? 127 : 7)));
  });

  test("a name with quotes and control characters still makes a whole record", async () => {
    const { execution } = await world.run("odd", "", { argv: ['/no/"such\\\n\u0001é'] });
    expect(execution.exit).toMatchObject({ exit: { message: 'spawn /no/"such\\\n\u0001é ENOENT' } });
  });

  test("limits hold from the command's first instruction", async () => {
    const rlimits = { nofile: 17, core: 0, fsize: 1_048_576 };
    const { stdout } = await world.run("limits", "ulimit -n; ulimit -c; ulimit -f", {
      hardening: { rlimits },
    });
    // dash counts blocks of 512 bytes.
    expect(stdout).toBe("17\n0\n2048\n");
  });

  test("privileges can't be gained where that is asked for", async () => {
    const script = "grep NoNewPrivs /proc/self/status";
    expect((await world.run("free", script)).stdout).toMatch(/0$/mu);
    expect((await world.run("bound", script, { hardening: { noNewPrivs: true } })).stdout).toMatch(/1$/mu);
  });

  /** Allows everything but `uname`, which fails with EPERM. */
  function writeFilter(): string {
    const file = join(world.dataRoot, "filter.bpf");
    const number = process.arch === "x64" ? 63 : 160;
    const [load, isEqual, answer] = [0x20, 0x15, 0x06];
    const [refuse, allow] = [0x00050001, 0x7fff0000];
    const rows = [
      [load, 0, 0, 0],
      [isEqual, 0, 1, number],
      [answer, 0, 0, refuse],
      [answer, 0, 0, allow],
    ];
    const bytes = Buffer.alloc(rows.length * 8);
    for (const [index, [code = 0, yes = 0, no = 0, value = 0]] of rows.entries()) {
      bytes.writeUInt16LE(code, index * 8);
      bytes.writeUInt8(yes, index * 8 + 2);
      bytes.writeUInt8(no, index * 8 + 3);
      bytes.writeUInt32LE(value, index * 8 + 4);
    }
    writeFileSync(file, bytes);
    return file;
  }

  test("a seccomp program is in force for the command and all that it starts", async () => {
    const hardening = { seccompFile: writeFilter() };
    const { stderr, stdout } = await world.run("filtered", "echo runs; uname; sh -c uname", { hardening });
    expect(stdout).toBe("runs\n");
    expect(stderr.match(/not permitted/gu)).toHaveLength(2);
  });

  test("a seccomp program that isn't one keeps the command from being started", async () => {
    const seccompFile = join(world.dataRoot, "broken.bpf");
    writeFileSync(seccompFile, "not a program");
    const { execution } = await world.run("unfiltered", "echo runs", { hardening: { seccompFile } });
    expect(execution.exit).toMatchObject({ exit: { code: 127, reason: "spawn-failed" } });
  });

  test("files that the plan names are open for the command from 4 on, and nothing of the keeper's is", async () => {
    const files = ["first", "second"].map((name) => join(world.dataRoot, name));
    for (const [index, file] of files.entries()) writeFileSync(file, `file ${index}`);
    const script = "cat <&4; cat <&5; ls -l /proc/self/fd >&2";
    const { stdout, stderr } = await world.run("files", script, { openFiles: files });
    expect(stdout).toBe("file 0file 1");
    // 3 is the folder that `ls` reads; 4 and 5 are the files.
    expect([...stderr.matchAll(/ (\d+) -> /gu)].map(([, fd]) => Number(fd))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  describe.skipIf(process.getuid?.() !== 0)("another account (needs root)", () => {
    test("the command has it, and no group or privilege beside", async () => {
      const user = { uid: 65_534, gid: 65_534, name: "nobody", home: "/nonexistent" };
      const { runAsUser } = await import("../src/command-user.ts");
      const script =
        "id -u; id -g; id -G; grep -E '^Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status; echo $A; pwd";
      const run = runAsUser(user, {
        argv: ["/bin/sh", "-c", script],
        env: { PATH: "/usr/bin:/bin", A: "b" },
        cwd: "/tmp",
      });
      const { stdout } = await world.run("nobody", "", { ...run, user });
      expect(stdout.replaceAll("\t", " ").split("\n")).toEqual([
        ...["65534", "65534", "65534"],
        ...["CapInh: 0000000000000000", "CapPrm: 0000000000000000", "CapEff: 0000000000000000"],
        ...["CapAmb: 0000000000000000", "NoNewPrivs: 1", "b", "/tmp", ""],
      ]);
    });
  });

  test("a life limit reaches also what has left the session and the group", async ({ skip }) => {
    if (world.whyNoCgroup !== undefined) skip(world.whyNoCgroup);
    const pidFile = join(world.dataRoot, "escaped");
    const script = `setsid sh -c 'echo $$ > ${pidFile}; exec sleep 300' & while [ ! -s ${pidFile} ]; do sleep 0.05; done; wait`;
    const running = world.run("escape", script, { killMs: 1500 });
    await until("it has escaped", () => existsSync(pidFile) || undefined);
    const { execution, signal } = await running;
    expect([signal, execution.exit]).toMatchObject(["SIGTERM", { exit: { timedOut: true } }]);
    const pid = Number(readFileSync(pidFile, "utf8"));
    await until("it is gone", () => !existsSync(`/proc/${pid}`) || undefined);
    const group = execution.claim?.cgroup ?? "";
    expect(group).not.toBe("");
    await until("the group is gone", () => world.sweep() || undefined);
    expect(existsSync(group)).toBe(false);
  });

  test("a command that goes on after its end keeps its group, and nothing else", async ({ skip }) => {
    if (world.whyNoCgroup !== undefined) skip(world.whyNoCgroup);
    const { execution } = await world.run("left", "sleep 3 > /dev/null 2>&1 & exit 0");
    const group = execution.claim?.cgroup ?? "";
    expect(readFileSync(join(group, "cgroup.procs"), "utf8")).not.toBe("");
  });

  test("a sandbox that tells its first process in pieces isn't cut off", async () => {
    // As bubblewrap does it, with a pause where the rest of its answer is still to come.
    const script =
      "printf '{ \"child-pid\": %s,' $$ >&3; sleep 0.3; printf ' \"rest\": 1 }' >&3; exec 3>&-; echo on";
    const { code, stdout, execution } = await world.run("pieces", script, { sandboxed: true });
    expect([code, stdout]).toEqual([0, "on\n"]);
    expect(execution.started?.pid).toBeGreaterThan(1);
  });

  test("told to end, a shim ends its command and records how", async () => {
    const execution = await world.start("told", "trap 'exit 5' TERM; while :; do sleep 0.05; done");
    const { claim } = execution;
    process.kill(claim?.pid ?? 0, "SIGTERM");
    await until("it is recorded", () => execution.closed !== undefined || undefined);
    expect(execution.exit).toMatchObject({ exit: { code: 5 } });
    await until("the shim is gone", () => (claim !== undefined && !isSameProcess(claim)) || undefined);
  });

  test.each([
    ["something else", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a wish that isn't known", order("folder\0/tmp\0cwd\0/\0segmentMaxBytes\x001000\0fly\x001\0")],
    ["a number that isn't one", order("folder\0/tmp\0cwd\0/\0segmentMaxBytes\x0010x\0")],
    ["a key without a value", order("folder\0/tmp\0cwd")],
    ["no folder", order("cwd\0/\0segmentMaxBytes\x001000\0")],
    ["a size beyond the bounds", Buffer.from("SNDORD01\xff\xff\xff\xff", "latin1")],
  ])("an order with %s ends the shim, and nothing is started", async (_what, bytes) => {
    const found = findShim({ dataRoot: world.dataRoot });
    const child = spawn(found.kind === "found" ? found.path : "", ["keep"], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.stdin.on("error", () => undefined);
    child.stdin.write(bytes);
    expect(await once(child, "exit")).toEqual([2, null]);
  });

  test("an idle shim is small", async () => {
    const { execution } = await world.run("small", "true");
    const own = `/proc/${execution.claim?.pid ?? 0}`;
    // Its order's and answers' pipes, the place of its errors, its signals.
    await until("it is idle", () => readdirSync(`${own}/fd`).length === 4 || undefined);
    const residentKb = /VmRSS:\s+(\d+) kB/u.exec(readFileSync(`${own}/status`, "utf8"))?.[1];
    expect(Number(residentKb)).toBeLessThan(2048);
  });
});

function order(body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(body));
  return Buffer.concat([Buffer.from("SNDORD01"), length, Buffer.from(body)]);
}
