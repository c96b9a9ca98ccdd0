/** Says how a command ended, from what the operating system and the sandbox report. Pure but for the named readers. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { ExitFacts } from "../ledger/records.ts";

export interface ExitReport {
  readonly code: number | null;
  readonly signal: string | null;
  readonly sandboxed: boolean;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly endedAtMs: number;
}

/** signals that end a program; the others in 129…192 are more likely a program's own exit code */
const endingSignals = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGILL",
  "SIGABRT",
  "SIGBUS",
  "SIGFPE",
  "SIGKILL",
  "SIGSEGV",
  "SIGPIPE",
  "SIGTERM",
  "SIGXCPU",
  "SIGXFSZ",
  "SIGSYS",
] as const;

const nameByNumber = new Map<number, string>(endingSignals.map((name) => [constants.signals[name], name]));

/**
 * bubblewrap can't end by its command's signal, so it exits with 128 and the signal's number, as shells do. Inside a
 * sandbox that is read back as the signal; a program that exits with such a code by itself is taken for it too.
 */
export function computeExitFacts(report: ExitReport): ExitFacts {
  const inner = report.sandboxed && report.code !== null ? nameByNumber.get(report.code - 128) : undefined;
  const signal = report.signal ?? inner ?? null;
  const code = signal === null ? report.code : null;
  const ended = signal === null ? "exited" : "signaled";
  return {
    code,
    signal,
    timedOut: report.timedOut,
    oomKilled: report.oomKilled && signal === "SIGKILL" && !report.timedOut,
    reason: report.timedOut ? "timed-out" : ended,
    message: "",
    endedAtMs: report.endedAtMs,
  };
}

/** How many processes this machine has killed for lack of memory since it started; 0 where it doesn't say. */
export function readOomKills(): number {
  try {
    return Number(/^oom_kill (\d+)$/mu.exec(readFileSync("/proc/vmstat", "utf8"))?.[1] ?? 0);
  } catch {
    // Not Linux, or hidden: then nothing is ever called an out-of-memory kill.
    return 0;
  }
}
