/** The shipped programs and a box store: the host's commands, its clock, a restore that isn't done, and secrets. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  callGateway,
  callOrFail,
  fieldOf,
  findProcessesOf,
  waitUntil,
} from "../packages/testkit/src/index.ts";
import { createWorld, findBundles, type SandWorld } from "../packages/testkit/src/proofs/door.ts";

const unhurried = { timeout: 300_000 };
const secret = "planted-box-store-secret";

function world(): Promise<SandWorld> {
  return createWorld({ label: "box-store", bundles: findBundles("shipped"), sandbox: "off" });
}

test(
  "a host takes snapshots when asked, tells of them after a restart, and clears the store",
  unhurried,
  async () => {
    await using stage = await world();
    const env = { SAND_BOX_STORE: join(stage.folder, "store"), SAND_BOX_STORE_EVERY_MINUTES: "0" };
    const first = await stage.startHost({ env });
    await callOrFail(first.access, "createAgent", { name: "Ada", description: "" });
    expect(await callOrFail(first.access, "getBoxStoreStatus", {})).toMatchObject({
      durable: false,
      lastSnapshotAtMs: null,
    });
    const taken = await callOrFail(first.access, "snapshotBoxStoreNow", {});
    expect(taken).toMatchObject({ isNew: true, skipped: [] });
    expect(await callOrFail(first.access, "snapshotBoxStoreNow", {})).toMatchObject({
      snapshotId: fieldOf(taken, "snapshotId"),
    });
    first.process.kill("SIGTERM");
    await first.process.exited;

    const second = await stage.startHost({ env });
    expect(await callOrFail(second.access, "getBoxStoreStatus", {})).toMatchObject({
      durable: true,
      fullyHydrated: true,
      agentDirEntries: 1,
      storeDbEntries: 1,
    });
    expect(await callOrFail(second.access, "clearBoxStoreNow", {})).toMatchObject({
      removedObjects: expect.any(Number),
    });
    expect(await callOrFail(second.access, "getBoxStoreStatus", {})).toMatchObject({
      durable: false,
      entryCount: 0,
    });
  },
);

test("a host without a box store says so", unhurried, async () => {
  await using stage = await world();
  const { access } = await stage.startHost();
  expect(await callGateway(access, "snapshotBoxStoreNow", {})).toMatchObject({
    status: 409,
    body: { failureCode: "box-store/not-configured" },
  });
  expect(await callOrFail(access, "getBoxStoreStatus", {})).toMatchObject({ durable: false });
  expect(existsSync(join(stage.dataRoot, "box-store"))).toBe(false);
});

test("a host doesn't start on a data root that a restore has filled in part only", unhurried, async () => {
  await using stage = await world();
  mkdirSync(join(stage.dataRoot, "box-store"));
  const from = { store: "/mnt/backups", snapshotId: "7-0badcafe", epoch: 1 };
  const state = { ownerId: "me", hydration: { state: "partial", from } };
  writeFileSync(join(stage.dataRoot, "box-store", "state.json"), JSON.stringify(state));
  const start = await stage.awaitHost(stage.spawnHost());
  expect(start.kind).toBe("died");
  expect(await start.process.output()).toContain("sand restore --from /mnt/backups --at 7-0badcafe");
});

test(
  "the store's key is in no environment, no argument list and no log, and the process ends with its host",
  unhurried,
  async () => {
    await using stage = await world();
    // Nothing answers there, so the process of the box store tries for a while.
    const env = {
      SAND_BOX_STORE: "s3://boxes/laptop",
      SAND_BOX_STORE_ENDPOINT: "http://127.0.0.1:9",
      SAND_BOX_STORE_ACCESS_KEY_ID: "planted-key",
      SAND_BOX_STORE_SECRET_ACCESS_KEY: secret,
    };
    const { access, process: host } = await stage.startHost({ env });
    const asked = callGateway(access, "snapshotBoxStoreNow", {});
    const role = await waitUntil(
      "the process of the box store",
      () => findProcessesOf(stage.folder).find(({ command }) => command.endsWith("box-store")),
      { deadlineMs: 60_000, everyMs: 1 },
    );
    const read = (file: string): string => {
      try {
        return readFileSync(`/proc/${role.pid}/${file}`, "latin1");
      } catch {
        // It has ended already, and the next look is at its answer.
        return "";
      }
    };
    expect(`${read("environ")}${read("cmdline")}`).not.toMatch(/planted/u);
    expect(await asked).toMatchObject({ status: 503, body: { failureCode: "box-store/unavailable" } });
    const again = callGateway(access, "snapshotBoxStoreNow", {});
    host.kill("SIGKILL");
    await again;
    await waitUntil(
      "its end",
      () => findProcessesOf(stage.folder).every(({ command }) => !command.endsWith("box-store")),
      {
        deadlineMs: 60_000,
      },
    );
    expect(await host.output()).not.toMatch(/planted/u);
  },
);
