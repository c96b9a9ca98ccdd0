/**
 * The processes of a terminal: those of its session, what descends from its leader, and what carries its marker. A
 * program that gave itself another session is still one of them.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "@sand/protocol";
import type { CommandUser } from "../command-user.ts";
import { findDescendants, findMarked, sendSignal } from "../processes/process-tree.ts";
import { ptyLimits } from "./pty-limits.ts";

export interface SessionRow {
  readonly session: number;
  /** the group in the terminal's foreground; -1 without a terminal */
  readonly foreground: number;
}

/** Undefined when the text is not what the kernel writes. The program's name may hold anything, brackets too. */
export function parseSession(stat: string): SessionRow | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [session, foreground] = [Number(fields[3]), Number(fields[5])];
  return Number.isInteger(session) && Number.isInteger(foreground) && fields.length > 6
    ? { session, foreground }
    : undefined;
}

/** To whom Ctrl-C would go. False when nobody is there. */
export function signalForeground(leader: number, name: NodeJS.Signals): boolean {
  const foreground = leader > 0 ? (readSession(leader)?.foreground ?? -1) : -1;
  return foreground > 0 && sendSignal(-foreground, name);
}

export interface SessionEnd {
  readonly leader: number;
  /** the marker in the environment of all that it started */
  readonly executionId: string;
  readonly user: CommandUser | undefined;
  readonly clock: Clock;
  /** HUP first, as when a line is cut, or KILL at once */
  readonly how: "hup" | "kill";
  readonly hasEnded: () => boolean;
}

/** Resolves when every process of the terminal has been asked, and killed if that didn't help. */
export async function endSession(end: SessionEnd): Promise<void> {
  const pids = findAll(end);
  if (end.how === "hup") {
    // A stopped program hears nothing before it goes on.
    for (const name of ["SIGHUP", "SIGCONT"] as const) for (const pid of pids) sendSignal(pid, name);
    const untilMs = end.clock.nowMs() + ptyLimits.endGraceMs;
    while (end.clock.nowMs() < untilMs && !(end.hasEnded() && findAll(end).length === 0))
      await end.clock.sleep(50);
  }
  for (const pid of findAll(end)) sendSignal(pid, "SIGKILL");
}

function findAll({ leader, executionId, user, hasEnded }: SessionEnd): readonly number[] {
  const marked = findMarked(executionId, user);
  // A leader of 0 never came up; to the kernel that number means ourselves.
  if (leader <= 0) return marked;
  // The leader's number may be another's once it has been reaped; its session keeps the number while it has members.
  const own = hasEnded() ? [] : [leader, ...findDescendants(leader)];
  return [...new Set([...own, ...findMembers(leader), ...marked])];
}

function findMembers(leader: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => readSession(pid)?.session === leader);
}

function readSession(pid: number): SessionRow | undefined {
  try {
    return parseSession(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    // It has just ended.
    return undefined;
  }
}
