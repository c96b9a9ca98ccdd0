import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withLock } from "./lock.mjs";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-lock-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("two at once run one after the other, and the lock is gone afterwards", async () => {
  const path = join(folder, "lock");
  let inside = 0;
  let most = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
  };
  await Promise.all([withLock(work, path), withLock(work, path), withLock(work, path)]);
  expect(most).toBe(1);
  expect(existsSync(path)).toBe(false);
});

test("a lock that its killed holder left behind is taken over", async () => {
  const path = join(folder, "lock");
  writeFileSync(path, "killed");
  const longAgo = new Date(Date.now() - 10 * 60_000);
  utimesSync(path, longAgo, longAgo);
  expect(await withLock(async () => "done", path)).toBe("done");
});

test("the lock is given up when the work fails", async () => {
  const path = join(folder, "lock");
  await expect(withLock(() => Promise.reject(new Error("broken")), path)).rejects.toThrow("broken");
  expect(existsSync(path)).toBe(false);
});
