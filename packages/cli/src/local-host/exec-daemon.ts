/**
 * The execution daemon as `sand` sees it: found by its file under the data root, told from any other process by start
 * time and boot, and asked over its own RPC (unary calls are plain JSON posts) what it is running.
 */
import { join } from "node:path";
import { isSameProcess, type ProcessIdentity } from "@sand/node-kit";
import { fieldsOf } from "../chat/feed-event.ts";
import { readJson } from "../gateway/find-gateway.ts";
import { readBounded } from "../gateway/read-bounded.ts";
import { readToken } from "./keep-token.ts";

export const daemonFileName = "exec-daemon.json";
export const daemonTokenName = "exec-daemon.token";

export interface DaemonRecord {
  readonly identity: ProcessIdentity;
  readonly rpcPort: number;
}

export interface DaemonState extends DaemonRecord {
  /** `undefined` when it doesn't answer us */
  readonly runningCommands: number | undefined;
}

const askTimeoutMs = 3_000;
const answerMaxBytes = 8 * 1024 * 1024;

/** The daemon's record, if the process that wrote it still lives. */
export function findDaemon(dataRoot: string): DaemonRecord | undefined {
  const file = readJson(join(dataRoot, daemonFileName));
  const record = file === undefined ? undefined : parseDaemonRecord(file);
  return record !== undefined && isSameProcess(record.identity) ? record : undefined;
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
  return record === undefined
    ? undefined
    : { ...record, runningCommands: await countRunning(record, dataRoot) };
}

async function countRunning(record: DaemonRecord, dataRoot: string): Promise<number | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${record.rpcPort}/exec.v1.Processes/List`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${readToken(join(dataRoot, daemonTokenName)) ?? "local"}`,
      },
      body: "{}",
      signal: AbortSignal.timeout(askTimeoutMs),
      redirect: "error",
    });
    if (!response.ok) return undefined;
    const answer = fieldsOf(JSON.parse(await readBounded(response, answerMaxBytes)));
    const rows: readonly unknown[] = Array.isArray(answer.executions) ? answer.executions : [];
    return rows.filter((row) => fieldsOf(row).state === "EXECUTION_STATE_RUNNING").length;
  } catch {
    // It doesn't answer, or takes another token: how much it runs isn't known.
    return undefined;
  }
}
