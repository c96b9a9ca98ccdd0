import { existsSync } from "node:fs";
import { join } from "node:path";
import { createLogger, createScope, randomIds } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { createTempFolder, createVirtualClock } from "@sand/testkit";
import { expect, test } from "vitest";
import { createTurnQueue, type RunEnd, type RunSignals } from "../src/turns/turn-queue.ts";
import { upgradeLimits } from "../src/upgrade/limits.ts";
import { createUpgradeDesk } from "../src/upgrade/upgrade-desk.ts";

const ann = brandId<AgentId>("ann");
const bob = brandId<AgentId>("bob");

/** A desk over a real queue; `run` is what the queue's loops do. */
async function createRig(run: (agentId: AgentId, signals: RunSignals) => Promise<RunEnd>) {
  const folder = await createTempFolder("upgrade-desk");
  const clock = createVirtualClock();
  const lines: string[] = [];
  const logger = createLogger({ name: "test", level: "info", write: (line) => lines.push(line) });
  const scope = createScope("test", (error) => lines.push(String(error)));
  const queue = createTurnQueue({ scope, run, onBusyChange: () => {}, onRetry: () => {}, clock });
  const schedule: string[] = [];
  const desk = createUpgradeDesk({
    dataRoot: folder.path,
    open: { peek: () => undefined },
    queue: () => queue,
    schedules: [{ suspend: () => schedule.push("suspend"), goOn: () => schedule.push("go on") }],
    ...{ scope, clock, ids: randomIds, logger },
  });
  return {
    ...{ desk, queue, clock, lines, schedule, folder },
    async [Symbol.asyncDispose]() {
      await scope.close();
      await desk.close();
      await folder.remove();
    },
  };
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

test("a host that nobody replaces goes on by itself, with whoever was held and whoever came since", async () => {
  const runs: string[] = [];
  await using rig = await createRig(async (agentId, { stopping, quiescing }) => {
    runs.push(agentId);
    if (runs.length > 1) return "done";
    await whenAborted(AbortSignal.any([quiescing, stopping]));
    return "left-open";
  });
  rig.queue.wake(ann);
  await rig.desk.prepare();
  await rig.queue.whenQuiet();
  const prepared = await rig.desk.prepare();
  expect(prepared).toMatchObject({ quiescing: false, runningTurns: 0, phase: "prepared" });
  rig.queue.wake(bob);
  expect(runs).toEqual(["ann"]);
  expect([rig.queue.isRunning(ann), rig.queue.isRunning(bob)]).toEqual([true, true]);
  expect(existsSync(join(rig.folder.path, "upgrade.json"))).toBe(true);
  await rig.clock.advance(upgradeLimits.followUpMaxMs - 1_000);
  await rig.desk.prepare();
  await rig.clock.advance(upgradeLimits.followUpMaxMs - 1_000);
  expect(runs).toEqual(["ann"]);
  await rig.clock.advance(1_000);
  expect(runs).toEqual(["ann", "ann", "bob"]);
  expect(rig.schedule).toEqual(["suspend", "go on"]);
  expect(existsSync(join(rig.folder.path, "upgrade.json"))).toBe(false);
});

test("a turn that reaches no boundary in time doesn't keep the host from being prepared, and is counted", async () => {
  await using rig = await createRig(async (_agentId, { stopping }) => {
    await whenAborted(stopping);
    return "left-open";
  });
  rig.queue.wake(ann);
  expect(await rig.desk.prepare()).toMatchObject({ quiescing: true, runningTurns: 1, phase: "quiescing" });
  await rig.clock.advance(upgradeLimits.quiesceMaxMs);
  expect(await rig.desk.prepare()).toMatchObject({ quiescing: false, runningTurns: 1, phase: "prepared" });
});

test("a run that comes to its end isn't held up, and whoever is woken later is, also by a queue that closes", async () => {
  let hold = (): void => {};
  const runs: string[] = [];
  await using rig = await createRig(async (agentId) => {
    runs.push(agentId);
    hold();
    return "done";
  });
  hold = () => rig.queue.hold();
  rig.queue.wake(ann);
  await rig.queue.whenQuiet();
  expect(rig.queue.heldUp()).toEqual([]);
  rig.queue.wake(bob);
  rig.queue.close();
  rig.queue.wake(ann);
  expect(rig.queue.heldUp()).toEqual(["bob", "ann"]);
  expect(runs).toEqual(["ann"]);
});
