/**
 * The role `box-store`, a process of its own: it reads one call, does it and answers.
 *
 * It is a process and not a thread because reading a database's file takes its process's locks on it away
 * (`@sand/store/snapshots`), because it may be given a lower priority than the host, and because what it needs of memory
 * goes when it ends. It ends as well when whoever called it goes away, which is safe at any moment.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { armFailpoints } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { BoxStoreCall, BoxStoreReply, SnapshotFacts } from "@sand/store/box-store";
import {
  clearOwned,
  type ObjectStore,
  prepareSqlite,
  readCatalog,
  restoreSnapshot,
  retentionDefaults,
  type SnapshotManifest,
  type SnapshotRow,
  snapshotInto,
} from "@sand/store/snapshots";
import { openBoxStore } from "./open-box-store.ts";

/** A tenth of the host's share, which has 0. One that gets next to nothing would keep a database pinned for long. */
const gentlePriority = 10;
const progressEveryMs = 500;
const callMaxBytes = 65_536;

export async function runBoxStoreRole(failpointSpec: string | undefined): Promise<void> {
  armFailpoints(failpointSpec);
  const natives = mkdtempSync(join(tmpdir(), "sand-natives-"));
  try {
    const call = await readCall();
    prepareSqlite({ nativesFolder: natives });
    reply(await answer(call));
  } catch (error) {
    reply(failed(error));
    process.exitCode = 1;
  } finally {
    rmSync(natives, { recursive: true, force: true });
    process.stdin.destroy();
  }
}

async function answer(call: BoxStoreCall): Promise<BoxStoreReply> {
  const isGentle = call.kind === "snapshot" && call.gentle;
  if (isGentle) setPriority(gentlePriority);
  const store = await openBoxStore(call.store, { isGentle, workingFolder: process.cwd() });
  try {
    return await work(call, store);
  } finally {
    await store.close();
  }
}

async function work(call: BoxStoreCall, store: ObjectStore): Promise<BoxStoreReply> {
  const common = { root: call.root, store, nowMs: Date.now, takeOver: false, retention: retentionDefaults };
  switch (call.kind) {
    case "snapshot": {
      const retention = { ...retentionDefaults, newest: call.keep };
      const { taken, protocol, problem } = await snapshotInto({
        ...common,
        retention,
        takeOver: call.takeOver,
      });
      const { isNew, row, manifest, uploadedBytes, uploadedObjects } = taken;
      const facts = describe(row, manifest);
      const told = problem === null ? null : { code: problem.code, message: problem.message };
      return {
        kind: "snapshot",
        isNew,
        protocol: protocol.kind,
        facts,
        uploadedObjects,
        uploadedBytes,
        problem: told,
      };
    }
    case "clear":
      return { kind: "cleared", ...(await clearOwned(common)) };
    case "list":
      return { kind: "list", snapshots: (await readCatalog(store)).snapshots };
    case "restore": {
      const { row, manifest, damaged } = await restoreSnapshot({
        root: call.root,
        store,
        dryRun: call.dryRun,
        onFile: createProgress(),
        ...(call.at === null ? {} : { at: call.at }),
      });
      return { kind: "restored", facts: describe(row, manifest), damaged };
    }
  }
}

function describe(row: SnapshotRow, manifest: SnapshotManifest): SnapshotFacts {
  const { files, skipped } = manifest;
  const agents = files.flatMap(({ path }) => /^agents\/([^/]+)\//u.exec(path)?.[1] ?? []);
  return {
    id: row.id,
    takenAtMs: row.takenAtMs,
    entryCount: files.length,
    storeDbEntries: files.filter(({ kind }) => kind === "database").length,
    agentDirEntries: new Set(agents).size,
    totalBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    skipped,
  };
}

function createProgress(): (done: number, total: number) => void {
  let toldAtMs = 0;
  return (done, total) => {
    const nowMs = performance.now();
    if (nowMs - toldAtMs < progressEveryMs) return;
    toldAtMs = nowMs;
    reply({ kind: "progress", done, total });
  };
}

/** The caller keeps the pipe open for as long as it wants the work to go on. */
async function readCall(): Promise<BoxStoreCall> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (part: string) => {
    text += part;
    if (text.includes("\n")) resolve(text);
    else if (text.length > callMaxBytes) reject(new BoxError("config/invalid", "the call is too long"));
  });
  process.stdin.on("end", () => process.exit(130));
  // Our own process wrote it: whoever could write another one could start this program with any call.
  return JSON.parse(await promise) as BoxStoreCall;
}

function reply(message: BoxStoreReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function failed(error: unknown): BoxStoreReply {
  if (error instanceof BoxError) {
    return { kind: "failed", code: error.code, message: error.message, hint: error.hint ?? null };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "failed", code: "box-store/unavailable", message, hint: null };
}
