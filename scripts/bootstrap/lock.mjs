/**
 * One preparation at a time in one clone.
 *
 * The holder keeps its file's time fresh, so a lock whose holder was killed is recognised without
 * trusting a process number, which another process or another container may have taken over.
 */
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Failure, say } from "./failure.mjs";
import { toolchain } from "./pins.mjs";

const refreshMs = 2_000;
/** several missed refreshes: a loaded machine may skip one or two */
const staleMs = 30_000;
const waitMaxMs = 20 * 60_000;
const pollMs = 500;

/** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
export async function withLock(work, path = join(toolchain, "bootstrap.lock")) {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${process.pid}-${Date.now()}-${Math.random().toString(36).slice(2)}`;
  await acquire(path, mine);
  const timer = setInterval(() => refresh(path), refreshMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    release(path, mine);
  }
}

async function acquire(path, mine) {
  const giveUpAt = Date.now() + waitMaxMs;
  let told = false;
  while (!tryTake(path, mine)) {
    if (!told) say("another one prepares this clone; waiting for it");
    told = true;
    if (Date.now() > giveUpAt) {
      throw new Failure("the other preparation doesn't end", `if none is running, remove ${path}`);
    }
    removeIfStale(path, mine);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function tryTake(path, mine) {
  try {
    writeFileSync(path, mine, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw new Failure(
      `${dirname(path)} can't be written (${error.code})`,
      "make the clone writable for this user",
    );
  }
}

/** Moved aside first and looked at there: a lock that was renewed in between is put back, not lost. */
function removeIfStale(path, mine) {
  const aside = `${path}.${mine}`;
  try {
    if (Date.now() - statSync(path).mtimeMs < staleMs) return;
    renameSync(path, aside);
    if (Date.now() - statSync(aside).mtimeMs < staleMs) linkSync(aside, path);
    unlinkSync(aside);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  }
}

function refresh(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // Removed by a person: the work goes on, and the release finds nothing to remove.
  }
}

function release(path, mine) {
  try {
    if (readFileSync(path, "utf8") === mine) unlinkSync(path);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
}
