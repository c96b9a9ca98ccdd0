/** Readers that want all of the output: the command waits for them, but not for ever. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "@sand/protocol/exec";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { joinOutput, kindsOf, shell, startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";
import { hasShim } from "./shim-world.ts";

describe.skipIf(!hasShim)("lossless readers", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon({ SAND_KEEPER: "shim" });
  });
  afterAll(() => daemon.dispose());

  const pinOf = (processId: string): string => join(daemon.dataRoot, "executions", processId, "reader.pin");
  /** three times what the spool holds */
  const flood = "while [ ! -e go ]; do sleep 0.05; done; seq 1 3000000; seq 1 300000 >&2";
  const [stdoutBytes, stderrBytes] = [22_888_896, 1_988_895];

  async function readAll(processId: string, lossless: boolean): Promise<readonly Event[]> {
    const events: Event[] = [];
    for await (const { event } of daemon.processes.attach({ processId, lossless }))
      if (event !== undefined) events.push(event);
    return events;
  }

  test("a reader gets every byte of what is three times the spool, and leaves no pin behind", async () => {
    await daemon.processes.start(shell("whole", flood));
    const reading = readAll("whole", true);
    await until("it is attached", () => existsSync(pinOf("whole")) || undefined);
    await daemon.processes.start(shell("let go", "touch go"));
    const events = await reading;
    expect(kindsOf(events)).not.toContain("gap");
    expect([joinOutput(events, 1).length, joinOutput(events, 2).length]).toEqual([stdoutBytes, stderrBytes]);
    expect(events.at(-1)?.kind).toMatchObject({ case: "closed", value: { leftOpen: false } });
    expect(existsSync(pinOf("whole"))).toBe(false);
  });

  test("a reader that stops is waited for a bounded time, and then the command goes on", {
    timeout: 120_000,
  }, async () => {
    await daemon.processes.start(shell("stuck", flood));
    const stream = daemon.processes.attach({ processId: "stuck", lossless: true })[Symbol.asyncIterator]();
    await stream.next();
    const { execution } = await daemon.processes.wait({ processId: "stuck", waitMs: 60_000 });
    expect(execution?.exited?.code).toBe(0);
    await stream.return?.(undefined);
  });
});
