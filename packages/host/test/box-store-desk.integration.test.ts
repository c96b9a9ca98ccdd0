/** Snapshots from time to time: one when something was committed since the last, none when not. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, createScope } from "@sand/node-kit";
import { waitUntil } from "@sand/testkit";
import { expect, test, vi } from "vitest";
import { createBoxStoreDesk } from "../src/box-store/box-store-desk.ts";

// A busy machine is slow, and that is no failure.
vi.setConfig({ testTimeout: 240_000 });
const patience = { deadlineMs: 120_000 };

function createRig() {
  const folder = mkdtempSync(join(tmpdir(), "sand-desk-"));
  const dataRoot = join(folder, "root");
  const store = join(folder, "store");
  mkdirSync(join(dataRoot, "agents", "ada"), { recursive: true });
  const lines: string[] = [];
  const logger = createLogger({ name: "test", level: "info", write: (line) => void lines.push(line) });
  const scope = createScope("test", () => undefined);
  let seq = 0;
  let looks = 0;
  const none = { endpoint: null, region: null, accessKeyId: null, secretAccessKey: null, sessionToken: null };
  const desk = createBoxStoreDesk({
    dataRoot,
    config: {
      access: { address: store, s3: none },
      everyMs: 20,
      keep: 5,
      env: { PATH: process.env.PATH ?? "" },
    },
    program: join(import.meta.dirname, "../src/main.ts"),
    scope,
    logger,
    lastSeq() {
      looks += 1;
      return seq;
    },
  });
  const manifests = (): number =>
    existsSync(join(store, "manifests")) ? readdirSync(join(store, "manifests")).length : 0;
  return {
    desk,
    store,
    lines,
    manifests,
    looks: () => looks,
    change(name: string) {
      writeFileSync(join(dataRoot, "agents", "ada", "profile.json"), JSON.stringify({ name }));
      seq += 1;
    },
    async [Symbol.asyncDispose]() {
      await scope.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test("a change is saved at the next time, and without one nothing is started", async () => {
  await using rig = createRig();
  rig.change("Ada");
  await waitUntil("the first snapshot", () => rig.desk.status().durable, patience);
  expect(rig.manifests()).toBe(1);
  rig.change("Ada Lovelace");
  await waitUntil("the second snapshot", () => rig.manifests() === 2, patience);
  await waitUntil("its end", () => rig.desk.status().durable, patience);
  const before = rig.looks();
  // Something that no commit told of: nobody looks for it.
  await waitUntil("more times to have come", () => rig.looks() > before + 10, patience);
  expect(rig.manifests()).toBe(2);
  expect(rig.desk.status()).toMatchObject({ durable: true, entryCount: 1, agentDirEntries: 1 });
});

test("a store that can't be used is a problem that the status names and the log tells", async () => {
  await using rig = createRig();
  writeFileSync(rig.store, "a file where the folder should be");
  rig.change("Ada");
  const status = await waitUntil(
    "the failure",
    () => rig.desk.status().problem && rig.desk.status(),
    patience,
  );
  expect(status).toMatchObject({ durable: false, problem: { failureCode: "box-store/unavailable" } });
  await waitUntil("its line", () => rig.lines.some((line) => line.includes("box-store.failed")), patience);
});
