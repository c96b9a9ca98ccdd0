/**
 * Fails a test run that leaves processes behind.
 *
 * Every process that the run starts inherits a mark in its environment. When the tests are over,
 * whoever still carries it, apart from the runner and its workers, was forgotten by a test.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const markName = "BOX_TEST_RUN";
/** a process that was told to end may need a moment */
const graceMs = 3_000;
const pollMs = 100;

export default function setup() {
  if (process.platform !== "linux") return undefined;
  const mark = `${markName}=${randomUUID()}`;
  process.env[markName] = mark.slice(markName.length + 1);
  return async () => {
    const giveUpAt = Date.now() + graceMs;
    let left = findMarked(mark);
    while (left.length > 0 && Date.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      left = findMarked(mark);
    }
    if (left.length > 0) throw new Error(`tests left processes behind:\n${left.join("\n")}`);
  };
}

/** @returns {string[]} `pid command` of each process that carries the mark and isn't the runner's */
function findMarked(mark) {
  const found = [];
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark)) continue;
      if (parentOf(pid) === process.pid) continue;
      found.push(
        `${pid} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 200)}`,
      );
    } catch {
      // It ended while we looked, or belongs to somebody else.
    }
  }
  return found;
}

function parentOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
}
