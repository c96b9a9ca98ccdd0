/** Waits until a host has ended the threads that it starts for a while: what it holds at rest is to be judged. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../wait-until.ts";

/** the names that the host gives to its threads, as the kernel cuts them */
const threadNames = new Set(["projections", "blobs", "recovery"]);
/** longer than the longest of their idle times, also on a busy machine */
const restDeadlineMs = 240_000;

export async function awaitRest(pid: number): Promise<void> {
  let running: readonly string[] = [];
  await waitUntil(
    "the host's threads to end",
    () => {
      running = namesOfThreads(pid).filter((name) => threadNames.has(name));
      return running.length === 0;
    },
    { deadlineMs: restDeadlineMs, everyMs: 500, describe: () => running.join(", ") },
  );
}

function namesOfThreads(pid: number): readonly string[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).flatMap((thread) => {
    try {
      return [readFileSync(join(folder, thread, "comm"), "utf8").trim()];
    } catch {
      // It ended between the listing and the look.
      return [];
    }
  });
}
