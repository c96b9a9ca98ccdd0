/** What every backend of terminals promises, with real terminals. The figures are the issue's own. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "./daemon-process.ts";
import { backends, type OpenBackend, runIn } from "./pty-backends.ts";

const patientMs = 240_000;

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** On a processor since its start; the kernel counts in steps of 10 ms. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

describe.each(backends)("terminals by $name", ({ open }) => {
  let opened: OpenBackend;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  test("of 1,000 short runs not a byte is lost", { timeout: patientMs }, async () => {
    const size = 20_000;
    const texts = new Map<number, number>();
    const oneRun = async (index: number): Promise<void> => {
      // Every length up to about five reads of the terminal, ended by exit right behind the last byte.
      const wanted = (index * 997) % size;
      const run = runIn(opened.backend, `head -c ${wanted} /dev/zero | tr '\\0' x`, { keep: false });
      const exit = await run.ended;
      if (run.bytes() !== wanted || exit.code !== 0) texts.set(wanted, run.bytes());
    };
    for (let index = 0; index < 1000; index += 4)
      await Promise.all([0, 1, 2, 3].map((more) => oneRun(index + more)));
    expect([...texts]).toEqual([]);
  });

  test("of 40 times 60,000 lines not a byte is lost", { timeout: patientMs }, async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `${index + 1}\r\n`).join("");
    for (let round = 0; round < 40; round += 1) {
      const run = runIn(opened.backend, "exec seq 1 60000");
      await run.ended;
      expect(run.received().equals(Buffer.from(lines))).toBe(true);
    }
  });

  test("output that waits while the terminal isn't read is all there after the end", {
    timeout: patientMs,
  }, async () => {
    const run = runIn(opened.backend, "exec seq 1 60000");
    for (let round = 0; round < 20; round += 1) {
      run.pipe.pause();
      await delay(5);
      const before = run.bytes();
      // What was read before is still given; after that nothing comes.
      await delay(5);
      expect(run.bytes() - before).toBeLessThanOrEqual(128 * 1024);
      run.pipe.resume();
      await delay(2);
    }
    await run.ended;
    expect(run.bytes()).toBe(408_894);
  });

  test("1 MiB of input arrives whole, and the processor rests while nobody reads it", {
    timeout: patientMs,
  }, async () => {
    const marker = "READY";
    const run = runIn(
      opened.backend,
      `stty raw -echo; echo ${marker}; read -r go < /dev/null; sleep 2; head -c 1048576 | sha256sum`,
    );
    await until("the program is ready", () => run.received().includes(marker) || undefined, patientMs);
    const paste = Buffer.alloc(1024 * 1024, "0123456789abcdef\n");
    // What holds the terminal is this process or the shim.
    const holder = parentOf(run.pipe.pid);
    const before = [process.cpuUsage(), cpuMsOf(holder)] as const;
    const written = run.pipe.write(paste);
    await delay(1500);
    const { user, system } = process.cpuUsage(before[0]);
    const holderMs = cpuMsOf(holder) - before[1];
    await written;
    expect(await run.ended).toEqual({ code: 0, signal: null });
    const { createHash } = await import("node:crypto");
    expect(run.received().toString()).toContain(createHash("sha256").update(paste).digest("hex"));
    // Of 1.5 s; spinning would take all of it.
    expect((user + system) / 1000).toBeLessThan(600);
    expect(holderMs).toBeLessThan(600);
  });

  test("writes that come before the first has been taken keep their order", {
    timeout: patientMs,
  }, async () => {
    const run = runIn(opened.backend, "stty raw -echo; echo READY; head -c 60000 | sha256sum");
    await until("the program is ready", () => run.received().includes("READY") || undefined, patientMs);
    const parts = Array.from({ length: 60 }, (_, index) => Buffer.alloc(1000, 33 + index));
    await Promise.all(parts.map((part) => run.pipe.write(part)));
    await run.ended;
    const { createHash } = await import("node:crypto");
    expect(run.received().toString()).toContain(
      createHash("sha256").update(Buffer.concat(parts)).digest("hex"),
    );
  });

  test("the exit is told by code or by signal", { timeout: patientMs }, async () => {
    expect(await runIn(opened.backend, "exit 7").ended).toEqual({ code: 7, signal: null });
    expect(await runIn(opened.backend, "kill -TERM $$").ended).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("a size that is set reaches the program", { timeout: patientMs }, async () => {
    const run = runIn(
      opened.backend,
      "trap 'stty size; exit' WINCH; echo READY; while :; do sleep 0.05; done",
    );
    await until("the program is ready", () => run.received().includes("READY") || undefined, patientMs);
    run.pipe.resize({ cols: 132, rows: 43 });
    await run.ended;
    expect(run.received().toString()).toContain("43 132");
  });

  test("a terminal that is let go of hangs up on its program", { timeout: patientMs }, async () => {
    const run = runIn(opened.backend, "echo READY; exec sleep 300");
    await until("the program is ready", () => run.received().includes("READY") || undefined, patientMs);
    run.pipe.close();
    expect(await run.ended).toEqual({ code: null, signal: "SIGHUP" });
    await expect(run.pipe.write(Buffer.from("x"))).rejects.toMatchObject({ code: "terminal/ended" });
  });

  test("nothing of a terminal stays open behind it", { timeout: patientMs }, async () => {
    const terminals = (): number =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return /\/dev\/(ptmx|pts)/u.test(readlinkSync(`/proc/self/fd/${fd}`));
        } catch {
          return false;
        }
      }).length;
    const before = terminals();
    await Promise.all(Array.from({ length: 30 }, () => runIn(opened.backend, "echo hi").ended));
    await until("the descriptors are closed", () => terminals() <= before || undefined, patientMs);
  });
});
