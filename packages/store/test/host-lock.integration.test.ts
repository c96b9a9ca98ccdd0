import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { acquireHostLock } from "../src/index.ts";
import { createStoreRig, type StoreRig } from "./store-rig.ts";

let rig: StoreRig;
let textPath: string;

beforeEach(() => {
  rig = createStoreRig();
  textPath = join(rig.root, "host.lock");
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

const holderScript = fileURLToPath(new URL("./hold-lock.ts", import.meta.url));

async function startHolder() {
  const holder = spawn(process.execPath, [holderScript, rig.root], { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  return holder;
}

test("the lock is taken, told to clients by pid, and given up", () => {
  const lock = acquireHostLock({ root: rig.root, pid: 42 });
  expect(lock.outcome).toBe("created");
  expect(readFileSync(textPath, "utf8").trim()).toBe("42");
  lock.release();
  lock.release();
  expect(existsSync(textPath)).toBe(false);
  acquireHostLock({ root: rig.root, pid: 43 }).release();
});

test("a second host is refused with the holder's pid, and the holder keeps its lock", async () => {
  const holder = await startHolder();
  try {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(() => acquireHostLock({ root: rig.root, pid: process.pid })).toThrow(
        expect.objectContaining({ code: "host/locked", details: { pid: holder.pid } }),
      );
    }
    expect(readFileSync(textPath, "utf8").trim()).toBe(String(holder.pid));
  } finally {
    holder.kill("SIGKILL");
    await once(holder, "exit");
  }
});

test("a holder that was killed holds nothing, though its text is left", async () => {
  const holder = await startHolder();
  holder.kill("SIGKILL");
  await once(holder, "exit");
  expect(existsSync(textPath)).toBe(true);
  const lock = acquireHostLock({ root: rig.root, pid: process.pid });
  expect(lock.outcome).toBe("reclaimed");
  expect(readFileSync(textPath, "utf8").trim()).toBe(String(process.pid));
  lock.release();
});

test.each([
  ["our own pid", String(process.pid)],
  ["a live process that holds no lock", "1"],
  ["no number", "not a pid"],
  ["nothing", ""],
])("a text with %s and no lock behind it is stale", (_case, text) => {
  writeFileSync(textPath, text);
  const lock = acquireHostLock({ root: rig.root, pid: process.pid });
  expect(lock.outcome).toBe("reclaimed");
  lock.release();
});

test("a second lock in the same process is refused too", () => {
  using _lock = acquireHostLock({ root: rig.root, pid: process.pid });
  expect(() => acquireHostLock({ root: rig.root, pid: process.pid })).toThrow(
    expect.objectContaining({ code: "host/locked" }),
  );
});

test("a lock file that can't be used is named, with the cure", () => {
  const path = join(rig.root, "lock.db");
  mkdirSync(path);
  expect(() => acquireHostLock({ root: rig.root, pid: process.pid })).toThrowError(
    expect.objectContaining({ code: "store/unavailable", message: expect.stringContaining(path) }),
  );
  rmSync(path, { recursive: true });
  acquireHostLock({ root: rig.root, pid: process.pid }).release();
});

test("a lock file with anything in it is emptied, and locks as before", () => {
  writeFileSync(join(rig.root, "lock.db"), "this is no database ".repeat(100));
  using _lock = acquireHostLock({ root: rig.root, pid: process.pid });
  expect(statSync(join(rig.root, "lock.db")).size).toBe(0);
  expect(() => acquireHostLock({ root: rig.root, pid: process.pid })).toThrow(
    expect.objectContaining({ code: "host/locked" }),
  );
});
