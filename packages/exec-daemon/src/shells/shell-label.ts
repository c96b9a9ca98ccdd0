/** What has to be known of a session's command after a restart of the daemon: it travels as a label of the execution. */
import { createHash } from "node:crypto";
import type { ShellsRunRequest } from "@sand/protocol/exec-shells";

export interface ShellLabel {
  readonly sessionId: string;
  /** of the request to run it */
  readonly digest: string;
  readonly detach: boolean;
}

const labelName = "sand.shell";

export function toShellLabels(label: ShellLabel): Readonly<Record<string, string>> {
  return { [labelName]: JSON.stringify(label) };
}

/** Undefined for what isn't ours: any caller may label its executions as it likes. */
export function parseShellLabel(
  labels: Readonly<Record<string, string>> | undefined,
): ShellLabel | undefined {
  let value: unknown;
  try {
    value = JSON.parse(labels?.[labelName] ?? "");
  } catch {
    return undefined;
  }
  return isLabel(value) ? value : undefined;
}

function isLabel(value: unknown): value is ShellLabel {
  if (typeof value !== "object" || value === null) return false;
  const row: Partial<Record<keyof ShellLabel, unknown>> = value;
  return (
    typeof row.sessionId === "string" && typeof row.digest === "string" && typeof row.detach === "boolean"
  );
}

/** Tells a repeat from a conflict; the order of variables is the sender's accident and doesn't count. */
export function digestRun(request: ShellsRunRequest): string {
  const sorted = (map: Readonly<Record<string, string>>) =>
    Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  const { sandbox, lineage } = request;
  return digestOf([
    ...[request.sessionId, request.processId, request.command, sorted(request.env)],
    ...[sorted(request.conversationEnv), request.unset, request.stdin, request.background, request.detach],
    ...[String(request.killMs), request.display, lineage?.agentId ?? "", lineage?.turnId ?? ""],
    ...[sandbox?.writableRoots ?? [], sandbox?.maskedPaths ?? [], sandbox?.protectedPaths ?? []],
    ...[sandbox?.readOnlyWorkspace ?? false, sandbox?.withoutNetwork ?? false],
  ]);
}

export function digestOf(values: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("hex");
}
