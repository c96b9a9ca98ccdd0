/**
 * The role `keeper` of the daemon's program: a process that the daemon starts ahead of time and that outlives it.
 *
 * It reads one JSON line for each execution that it shall keep and answers with one word on a line: `ready` when it
 * can take one, `taken` or `closed` when one is done, `leaving` when one left a stream open and this keeper stays with
 * it until the end. When the daemon goes away it finishes what it has and ends. The folder is the truth; these words
 * only save the daemon from looking.
 */
import { createInterface } from "node:readline";
import { systemClock } from "@sand/node-kit";
import { keepExecution } from "./keep-execution.ts";

export interface KeepOrder {
  readonly folder: string;
}

export async function runKeeper(): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => stop.abort());
  // The daemon may be gone when we tell it something. That is no reason to leave an execution.
  process.stdout.on("error", () => undefined);
  const lines = createInterface({ input: process.stdin });
  stop.signal.addEventListener("abort", () => lines.close());
  say("ready");
  for await (const line of lines) {
    const order = JSON.parse(line) as KeepOrder;
    const outcome = await keepExecution(order.folder, { clock: systemClock, stop: stop.signal });
    if (outcome.kind === "left-open") {
      say("leaving");
      await outcome.drained;
      return;
    }
    say(outcome.kind);
    if (stop.signal.aborted) return;
    say("ready");
  }
}

function say(word: string): void {
  process.stdout.write(`${word}\n`);
}
