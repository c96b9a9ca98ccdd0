/**
 * The execution daemon as `sand` sees it: found by its file under the data root, told from any other process by start
 * time and boot, and asked over its own RPC (unary calls are plain JSON posts) what it is running.
 */
import { join } from "node:path";
import { isSameProcess, type ProcessIdentity } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import { fieldsOf } from "../chat/feed-event.ts";
import { readJson } from "../gateway/find-gateway.ts";
import { bareDaemonToken, callDaemon } from "./call-daemon.ts";
import { readToken } from "./keep-token.ts";

export const daemonFileName = "exec-daemon.json";
export const daemonTokenName = "exec-daemon.token";

export interface DaemonRecord {
  readonly identity: ProcessIdentity;
  readonly rpcPort: number;
}

export interface DaemonState extends DaemonRecord {
  /** ids of what runs; `undefined` when the daemon doesn't answer us */
  readonly running: readonly string[] | undefined;
}

const askTimeoutMs = 3_000;
/** between TERM and KILL */
const commandGraceMs = 3_000;
const lookEveryMs = 100;

/** The daemon's record, if the process that wrote it still lives. */
export function findDaemon(dataRoot: string): DaemonRecord | undefined {
  const file = readJson(join(dataRoot, daemonFileName));
  const record = file === undefined ? undefined : parseDaemonRecord(file);
  return record !== undefined && isSameProcess(record.identity) ? record : undefined;
}

/** what the name of a service follows in an address of the daemon's own port */
export function baseOf({ rpcPort }: DaemonRecord): string {
  return `http://127.0.0.1:${rpcPort}`;
}

export function parseDaemonRecord(file: Readonly<Record<string, unknown>>): DaemonRecord | undefined {
  const { pid, startTime, bootId } = file;
  const rpcPort = fieldsOf(file.ports).rpc ?? file.rpcPort ?? file.port;
  if (typeof pid !== "number" || typeof bootId !== "string" || typeof rpcPort !== "number") return undefined;
  if (typeof startTime !== "string" && typeof startTime !== "number") return undefined;
  return { identity: { pid, startTime: String(startTime), bootId }, rpcPort };
}

export async function askDaemon(dataRoot: string): Promise<DaemonState | undefined> {
  const record = findDaemon(dataRoot);
  return record === undefined ? undefined : { ...record, running: await listRunning(record, dataRoot) };
}

/** Ends every running command with all that descends from it: asked first, killed after a grace. */
export async function endCommands(daemon: DaemonState, dataRoot: string, clock: Clock): Promise<void> {
  for (const processId of daemon.running ?? []) {
    const body = { processId, name: "SIGTERM", scope: "SIGNAL_SCOPE_TREE", killAfterMs: commandGraceMs };
    await ask(daemon, dataRoot, { method: "Signal", body });
  }
  const startedMs = clock.nowMs();
  while (clock.nowMs() - startedMs < 2 * commandGraceMs) {
    const left = await listRunning(daemon, dataRoot);
    if (left === undefined || left.length === 0) return;
    await clock.sleep(lookEveryMs);
  }
}

async function listRunning(record: DaemonRecord, dataRoot: string): Promise<readonly string[] | undefined> {
  const answer = await ask(record, dataRoot, { method: "List", body: {} });
  if (answer === undefined) return undefined;
  const rows: readonly unknown[] = Array.isArray(answer.executions) ? answer.executions : [];
  return rows.flatMap((row) => {
    const { state, processId } = fieldsOf(row);
    return state === "EXECUTION_STATE_RUNNING" && typeof processId === "string" ? [processId] : [];
  });
}

interface Ask {
  readonly method: "List" | "Signal";
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(
  record: DaemonRecord,
  dataRoot: string,
  { method, body }: Ask,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const token = readToken(join(dataRoot, daemonTokenName)) ?? bareDaemonToken;
  try {
    return await callDaemon({ base: baseOf(record), token, method, body, timeoutMs: askTimeoutMs });
  } catch {
    // It doesn't answer, or takes another token: what it runs isn't known.
    return undefined;
  }
}
