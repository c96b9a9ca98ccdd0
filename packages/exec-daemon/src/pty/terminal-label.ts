/**
 * What a daemon must know about a terminal that an earlier one has started: it travels as a label of the execution, so
 * it is on disk before the program runs.
 */
import type { OnDisconnect } from "./terminal.ts";

export interface TerminalLabel {
  readonly id: string;
  /** of the request that made it */
  readonly digest: string;
  readonly command: readonly string[];
  readonly onDisconnect: OnDisconnect;
  readonly idleGraceMs: number;
  readonly createdAtMs: number;
}

const labelName = "sand.terminal";

export function toLabels(label: TerminalLabel): Readonly<Record<string, string>> {
  return { [labelName]: JSON.stringify(label) };
}

/** Undefined for what isn't ours: any caller may label its executions as it likes. */
export function parseLabels(labels: Readonly<Record<string, string>> | undefined): TerminalLabel | undefined {
  let value: unknown;
  try {
    value = JSON.parse(labels?.[labelName] ?? "");
  } catch {
    return undefined;
  }
  return isLabel(value) ? value : undefined;
}

function isLabel(value: unknown): value is TerminalLabel {
  if (typeof value !== "object" || value === null) return false;
  const row: Partial<Record<keyof TerminalLabel, unknown>> = value;
  const hasTexts = [row.id, row.digest].every((text) => typeof text === "string");
  const hasNumbers = [row.idleGraceMs, row.createdAtMs].every((number) => Number.isSafeInteger(number));
  const isPolicy = row.onDisconnect === "keep" || row.onDisconnect === "hup" || row.onDisconnect === "kill";
  return hasTexts && hasNumbers && isPolicy && Array.isArray(row.command);
}
