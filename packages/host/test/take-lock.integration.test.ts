import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { acquireHostLock, acquireSuccessorLock } from "@sand/store";
import { createTempFolder } from "@sand/testkit";
import { expect, test } from "vitest";
import { isPrepared, writePrepared } from "../src/upgrade/prepared-file.ts";
import { takeLock } from "../src/upgrade/take-lock.ts";

async function createRig() {
  const folder = await createTempFolder("take-lock");
  const lines: string[] = [];
  const logger = createLogger({ name: "test", level: "info", write: (line) => lines.push(line) });
  const take = (takeOver: boolean) =>
    takeLock({
      dataRoot: folder.path,
      discoveryFile: join(folder.path, "gateway.json"),
      certificate: null,
      ...{ takeOver, clock: systemClock, logger },
    });
  return { root: folder.path, lines, take, [Symbol.asyncDispose]: () => folder.remove() };
}

test("a host that runs and wasn't prepared isn't taken over from, unless that is asked for", async () => {
  await using rig = await createRig();
  using _held = acquireHostLock({ root: rig.root, pid: process.pid });
  await expect(rig.take(false)).rejects.toMatchObject({ code: "host/locked", details: { pid: process.pid } });
  expect(rig.lines).toEqual([]);
});

test("a start waits for the lock of a host that was prepared, and takes it when it is given up", async () => {
  await using rig = await createRig();
  const held = acquireHostLock({ root: rig.root, pid: process.pid });
  writePrepared(rig.root, process.pid, "u1");
  const taking = rig.take(false);
  let isTaken = false;
  void taking.then(() => {
    isTaken = true;
  });
  while (rig.lines.length === 0) await systemClock.sleep(5);
  expect({ isTaken, said: rig.lines[0]?.includes("upgrade.takes-over") }).toEqual({
    isTaken: false,
    said: true,
  });
  held.release();
  using lock = await taking;
  expect(lock.outcome).toBe("created");
  expect(isPrepared(rig.root, process.pid)).toBe(false);
});

test("one process waits to take over, and a second one is told", async () => {
  await using rig = await createRig();
  using _held = acquireHostLock({ root: rig.root, pid: process.pid });
  {
    using _first = acquireSuccessorLock(rig.root);
    await expect(rig.take(true)).rejects.toMatchObject({ code: "host/locked" });
  }
  acquireSuccessorLock(rig.root)[Symbol.dispose]();
});

test("a mark that another host has left doesn't count", async () => {
  await using rig = await createRig();
  writePrepared(rig.root, process.pid + 1, "u1");
  expect(isPrepared(rig.root, process.pid)).toBe(false);
});
