/** Ends one process that was identified before: asks with TERM, waits, and with `force` ends it by KILL. */
import { isSameProcess, type ProcessIdentity } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";

export type StopOutcome = "stopped" | "was-gone" | "still-running" | "killed";

export interface StopOptions {
  readonly clock: Clock;
  readonly graceMs: number;
  readonly force: boolean;
}

const lookEveryMs = 50;
const killWaitMs = 5_000;

export async function stopProcess(identity: ProcessIdentity, options: StopOptions): Promise<StopOutcome> {
  if (!signal(identity, "SIGTERM")) return "was-gone";
  if (await isGoneWithin(identity, options.graceMs, options.clock)) return "stopped";
  if (!options.force) return "still-running";
  signal(identity, "SIGKILL");
  return (await isGoneWithin(identity, killWaitMs, options.clock)) ? "killed" : "still-running";
}

/** The identity is looked at directly before the signal: a pid that was taken over since is never hit. */
function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isSameProcess(identity)) return false;
  try {
    process.kill(identity.pid, name);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}

async function isGoneWithin(identity: ProcessIdentity, limitMs: number, clock: Clock): Promise<boolean> {
  const startedMs = clock.nowMs();
  while (isSameProcess(identity)) {
    if (clock.nowMs() - startedMs >= limitMs) return false;
    await clock.sleep(lookEveryMs);
  }
  return true;
}
