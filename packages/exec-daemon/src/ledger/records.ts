/**
 * The JSON files of an execution's folder as types, and their readers. A file that isn't there is undefined; one that
 * doesn't parse is damage, which is thrown and never guessed at.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { InvariantError } from "@sand/protocol";
import type { CommandUser } from "../command-user.ts";
import { executionFiles } from "./execution-folder.ts";

/** what the keeper needs; it knows nothing of policies */
export interface LaunchPlan {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: boolean;
  /** 0 is none */
  readonly killMs: number;
  /** absent: the daemon's own account; the argv changes to it by itself */
  readonly user?: CommandUser;
  /** the argv is bubblewrap's: it tells the command's pid on descriptor 3, and 128+n stands for a signal */
  readonly sandboxed: boolean;
  /** digest of the rules that hold for the run */
  readonly policyHash?: string;
  /** opened for reading before anything else, as the descriptors 4, 5, … of the argv; whoever keeps the run does it */
  readonly openFiles?: readonly string[];
  /** opened for appending, as the descriptor behind those; it is there already */
  readonly saveFile?: string;
  /** absent: pipes. Only the native shim can keep a terminal; its output is the execution's standard output */
  readonly terminal?: { readonly cols: number; readonly rows: number };
  /** what only the native shim can do; a Node keeper refuses a plan that asks for it */
  readonly hardening?: Hardening;
}

export interface Hardening {
  readonly noNewPrivs?: boolean;
  /** a file with a seccomp program, in force from the command's first instruction */
  readonly seccompFile?: string;
  /** soft and hard limits by their name in lower case, as in `nofile` */
  readonly rlimits?: Readonly<Record<string, number>>;
}

export interface StartRecord {
  readonly version: 1;
  readonly executionId: string;
  /** of the whole request: tells a repeat from a conflict */
  readonly digest: string;
  readonly acceptedAtMs: number;
  /** the machine's boot; absent in records from before it was kept */
  readonly bootId?: string;
  readonly background: boolean;
  readonly lineage: { readonly agentId: string; readonly turnId: string };
  /** the caller's own; absent when there are none */
  readonly labels?: Readonly<Record<string, string>>;
  /** what people read of a background command; absent for others, whose caller knows it */
  readonly shown?: { readonly command: string; readonly cwd: string };
  readonly launch: LaunchPlan;
}

export interface ClaimRecord {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  /** the control group that all of it is in, where there is one */
  readonly cgroup?: string;
}

export interface StartedRecord {
  readonly pid: number;
  readonly pgid: number;
  readonly startTime: string;
  readonly bootId: string;
}

export interface ExitFacts {
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly reason: "exited" | "signaled" | "timed-out" | "spawn-failed";
  readonly message: string;
  readonly endedAtMs: number;
}

export type ExitRecord =
  | { readonly outcome: "known"; readonly seq: number; readonly exit: ExitFacts }
  | { readonly outcome: "unknown"; readonly seq: number; readonly reason: string };

export interface ClosedRecord {
  readonly seq: number;
  readonly leftOpen: boolean;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** A record as its keeper says it: the same that is in the folder by then. */
export type ToldRecord =
  | { readonly file: typeof executionFiles.claim; readonly record: ClaimRecord }
  | { readonly file: typeof executionFiles.started; readonly record: StartedRecord }
  | { readonly file: typeof executionFiles.exit; readonly record: ExitRecord }
  | { readonly file: typeof executionFiles.closed; readonly record: ClosedRecord };

const toldFiles: ReadonlySet<string> = new Set([
  executionFiles.claim,
  executionFiles.started,
  executionFiles.exit,
  executionFiles.closed,
]);

/** A line of a keeper: the file's name, a space, and what is in it. Undefined for whatever else it may say. */
export function parseTold(line: string): ToldRecord | undefined {
  const space = line.indexOf(" ");
  const file = line.slice(0, Math.max(0, space));
  if (!toldFiles.has(file)) return undefined;
  return { file, record: JSON.parse(line.slice(space + 1)) } as ToldRecord;
}

function readRecord(folder: string, file: string): unknown {
  const path = join(folder, file);
  // Most looks find nothing, and an error that is thrown for each would be the greatest part of their cost.
  if (!existsSync(path)) return undefined;
  try {
    const text = readFileSync(path, "utf8");
    // A power cut may have kept the name and not what was in it: then it was never written.
    return text === "" ? undefined : JSON.parse(text);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new InvariantError(`${file} of an execution is one whole JSON value (${String(error)})`);
  }
}

// These files are written whole, by ourselves and under a name that fixes their shape, so reading one is its parser.
export const readStart = (folder: string): StartRecord | undefined =>
  readRecord(folder, executionFiles.start) as StartRecord | undefined;
export const readClaim = (folder: string): ClaimRecord | undefined =>
  readRecord(folder, executionFiles.claim) as ClaimRecord | undefined;
export const readStarted = (folder: string): StartedRecord | undefined =>
  readRecord(folder, executionFiles.started) as StartedRecord | undefined;
export const readExit = (folder: string): ExitRecord | undefined =>
  readRecord(folder, executionFiles.exit) as ExitRecord | undefined;
export const readClosed = (folder: string): ClosedRecord | undefined =>
  readRecord(folder, executionFiles.closed) as ClosedRecord | undefined;
