/**
 * The daemon's discovery file, `<data root>/exec-daemon.json`: where a running daemon is and which process it is. It
 * holds no secret. A reader compares pid, start time and boot id with the living process before it believes it.
 */
export const execDiscoveryFile = "exec-daemon.json";

export interface ExecDiscovery {
  readonly version: 1;
  readonly host: string;
  readonly rpcPort: number;
  /** where terminals are; absent in a daemon of before they were built */
  readonly ptyPort?: number;
  /** the surface for E2B's SDKs and the version that they may take it for; absent when it isn't open */
  readonly e2b?: { readonly port: number; readonly version: string };
  readonly pid: number;
  /** field 22 of `/proc/<pid>/stat` */
  readonly startTime: string;
  readonly bootId: string;
  readonly startedAtMs: number;
}

/** Undefined when the text isn't one of ours: half a file of an older program, for instance. */
export function parseExecDiscovery(text: string): ExecDiscovery | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isDiscovery(value) ? value : undefined;
}

function isDiscovery(value: unknown): value is ExecDiscovery {
  if (typeof value !== "object" || value === null) return false;
  const row: Partial<Record<keyof ExecDiscovery, unknown>> = value;
  const hasTexts = [row.host, row.startTime, row.bootId].every((text) => typeof text === "string");
  return row.version === 1 && hasTexts && Number.isInteger(row.rpcPort) && Number.isInteger(row.pid);
}
