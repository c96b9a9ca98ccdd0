/** What finished executions keep of their output, within a bound of bytes, over the real daemon's folders. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSpoolDropper } from "../src/ledger/drop-spools.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import { startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";

const kib = 1024;

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

async function print(processId: string, bytes: number): Promise<void> {
  const text = `head -c ${bytes} /dev/zero`;
  await daemon.processes.start({ processId, command: { case: "shell", value: text } });
  await until(`${processId} is closed`, async () => {
    const { execution } = await daemon.processes.wait({ processId, waitMs: 1_000 });
    return execution?.closed === true || undefined;
  });
}

const filesOf = (id: string): readonly string[] =>
  readdirSync(join(daemon.dataRoot, "executions", id)).filter((name) => name.startsWith("out-"));

test("the oldest lose their output first, keep their end, and whoever reads them is told why", async () => {
  await print("first", 64 * kib);
  await print("silent", 0);
  await print("last", 64 * kib);
  await daemon.kill();
  const lines: string[] = [];
  const log = createLogger({ name: "test", level: "info", write: (line) => lines.push(line) });
  const ledger = openLedger({ dataRoot: daemon.dataRoot, enabled: true, clock: systemClock, log });
  const order = ["first", "silent", "last"];
  const rows = ledger
    .list()
    .map((execution) => ({ execution, endedAtMs: order.indexOf(execution.start.executionId) }));
  await createSpoolDropper({ spoolsMaxBytes: 100 * kib }, log).drop(rows);
  ledger.close();
  expect([filesOf("first"), filesOf("last").length]).toEqual([[], 1]);
  expect(lines.filter((line) => line.includes("execution.spool-dropped"))).toHaveLength(1);

  daemon = await daemon.again();
  const { events } = await daemon.processes.read({ processId: "first", waitMs: 0, maxBytes: 1024 * kib });
  expect(events.map(({ kind }) => kind.case)).toEqual(["started", "exited", "gap", "closed"]);
  expect(events.find(({ kind }) => kind.case === "gap")?.kind.value).toMatchObject({
    ...{ from: 0n, to: BigInt(64 * kib), reason: "dropped to make room for later output" },
  });
  const last = await daemon.processes.read({ processId: "last", waitMs: 0, maxBytes: 1024 * kib });
  expect(last.events.some(({ kind }) => kind.case === "gap")).toBe(false);
}, 120_000);
