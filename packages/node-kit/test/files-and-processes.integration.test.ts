import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  isSameProcess,
  randomIds,
  readProcessIdentity,
  systemClock,
  writeFileAtomic,
  writeFileAtomicSync,
} from "../src/index.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-node-kit-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const writers = [
  ["writeFileAtomic", writeFileAtomic],
  [
    "writeFileAtomicSync",
    async (...args: Parameters<typeof writeFileAtomicSync>) => writeFileAtomicSync(...args),
  ],
] as const;

test.each(writers)("%s replaces the whole file and leaves nothing beside it", async (_name, write) => {
  const path = join(folder, "gateway.json");
  writeFileSync(path, "old and longer");
  await write(path, "new");
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(readdirSync(folder)).toEqual(["gateway.json"]);
});

test.each(writers)(
  "%s makes the file private, or as open as it is told whatever the umask",
  async (_name, write) => {
    const path = join(folder, "file");
    const before = process.umask(0o077);
    try {
      await write(path, new Uint8Array([1]));
      expect(statSync(path).mode & 0o777).toBe(0o600);
      await write(path, new Uint8Array([1]), { mode: 0o644 });
      expect(statSync(path).mode & 0o777).toBe(0o644);
    } finally {
      process.umask(before);
    }
  },
);

test.each(writers)("%s leaves the old file and no rest when it fails", async (_name, write) => {
  const target = join(folder, "taken");
  // A folder can't be replaced by a file, so the rename fails after the data was written.
  mkdirSync(join(target, "inside"), { recursive: true });
  await expect(write(target, "data")).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(["taken"]);
  expect(existsSync(join(target, "inside"))).toBe(true);
});

test.each(writers)("%s takes a name of the greatest length", async (_name, write) => {
  const path = join(folder, "n".repeat(255));
  await write(path, "data");
  expect(readFileSync(path, "utf8")).toBe("data");
});

test("a live process is the same one, and isn't any more after its end", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(child, "spawn");
  const identity = readProcessIdentity(child.pid ?? 0);
  if (identity === undefined) throw new Error("the child is alive");
  expect(isSameProcess(identity)).toBe(true);
  expect(isSameProcess({ ...identity, startTime: "1" })).toBe(false);
  expect(isSameProcess({ ...identity, bootId: "another boot" })).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isSameProcess(identity)).toBe(false);
});

test("a process that has exited and wasn't waited for doesn't live", async () => {
  const pidFile = join(folder, "pid");
  // The shell becomes another program while its child still runs, and that program never waits for it.
  const script = join(folder, "parent.sh");
  writeFileSync(script, `#!/bin/sh\nsleep 0.2 &\necho $! > ${pidFile}\nexec sleep 30\n`);
  chmodSync(script, 0o755);
  const parent = spawn(script, { stdio: "ignore" });
  try {
    await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
    const pid = Number(readFileSync(pidFile, "utf8"));
    await until(() => / Z /u.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
    expect(readProcessIdentity(pid)).toBeUndefined();
  } finally {
    parent.kill("SIGKILL");
    await once(parent, "exit");
  }
});

test("a sleep ends at once when it is aborted, and never rejects", async () => {
  const controller = new AbortController();
  const sleeping = systemClock.sleep(3_600_000, controller.signal);
  controller.abort();
  await sleeping;
  await systemClock.sleep(3_600_000, AbortSignal.abort());
});

test("a sleep longer than a timer can be doesn't end early", async () => {
  const controller = new AbortController();
  let ended = false;
  const sleeping = systemClock.sleep(2 ** 32, controller.signal).then(() => {
    ended = true;
  });
  await systemClock.sleep(20);
  expect(ended).toBe(false);
  controller.abort();
  await sleeping;
});

test("ids are fresh", () => {
  expect(randomIds.next()).not.toBe(randomIds.next());
});

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadlineMs) throw new Error("the condition never came true");
    await systemClock.sleep(5);
  }
}
