/** Finds processes that belong to an execution, by descent and by the marker in their environment, and signals them. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { type CommandUser, runAsUser } from "../command-user.ts";
import { markerName } from "../ledger/execution-folder.ts";

export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
}

/** The processes whose first environment names this execution. One that cleared its environment isn't found. */
export function findMarked(executionId: string, user?: CommandUser): readonly number[] {
  return findWithVariable(markerName, executionId, user);
}

/** The same for any variable. */
export function findWithVariable(name: string, value: string, user?: CommandUser): readonly number[] {
  if (user !== undefined) return findMarkedAs(user, `${name}=${value}`);
  const marker = `\0${name}=${value}\0`;
  return listPids().filter((pid) => `\0${readText(`/proc/${pid}/environ`)}`.includes(marker));
}

const searchMaxMs = 5000;
const searchMaxBytes = 1024 * 1024;

/** Another account's environments are closed to us whatever we may do, so that account is asked to look. */
function findMarkedAs(user: CommandUser, marker: string): readonly number[] {
  const files = listPids().map((pid) => `/proc/${pid}/environ`);
  const search = ["/bin/grep", "--null-data", "--line-regexp", "--fixed-strings", "--files-with-matches"];
  const run = runAsUser(user, {
    argv: [...search, "--no-messages", "--text", `--regexp=${marker}`, "--", ...files],
    env: {},
    cwd: "/",
  });
  const [program = "", ...args] = run.argv;
  const found = readOutput(program, args);
  return found
    .split("\n")
    .flatMap((line) => /^\/proc\/(\d+)\//u.exec(line)?.[1] ?? [])
    .map(Number);
}

function readOutput(program: string, args: readonly string[]): string {
  try {
    const limits = { timeout: searchMaxMs, maxBuffer: searchMaxBytes };
    return execFileSync(program, [...args], { ...limits, env: {}, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    // It says failure when nothing was found, or when one of the processes had ended in between.
    return error instanceof Error && "stdout" in error && typeof error.stdout === "string"
      ? error.stdout
      : "";
  }
}

/** Every living descendant of `pid`, nearest first. */
export function findDescendants(pid: number): readonly number[] {
  return computeDescendants(pid, listPids().flatMap(readRow));
}

export function computeDescendants(pid: number, rows: readonly ProcessRow[]): readonly number[] {
  const found: number[] = [];
  for (let level = [pid]; level.length > 0; ) {
    const next = rows
      .filter((row) => level.includes(row.parentPid) && !found.includes(row.pid))
      .map((row) => row.pid);
    found.push(...next);
    level = next;
  }
  return found;
}

/** False when there was nobody to send it to. A negative pid is a group. */
export function sendSignal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    // ESRCH: it has ended in between, which is as good as signalled.
    return false;
  }
}

function listPids(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number);
}

function readRow(pid: number): readonly ProcessRow[] {
  const stat = readText(`/proc/${pid}/stat`);
  const parentPid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  return Number.isInteger(parentPid) ? [{ pid, parentPid }] : [];
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // Gone, or another user's: not one that we could signal.
    return "";
  }
}
