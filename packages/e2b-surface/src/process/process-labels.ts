/**
 * What List tells of a command that the ledger has no words for: it is kept with the execution, as a label, so that it
 * is still known after the daemon was restarted. Only executions with this label are visible here: a client of this
 * surface can't see or end what somebody else runs.
 */
import type { Execution } from "@sand/protocol/exec";

export const processLabel = "e2b.process";

export interface ProcessConfig {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
  /** it has an input that can be written to */
  readonly stdin: boolean;
}

export function writeLabel(config: ProcessConfig): Record<string, string> {
  return { [processLabel]: JSON.stringify(config) };
}

/** Undefined when the execution isn't of this surface. */
export function readLabel(execution: Pick<Execution, "labels">): ProcessConfig | undefined {
  const text = execution.labels[processLabel];
  if (text === undefined) return undefined;
  // Written by `writeLabel` above and by nobody else: reading it is its parser.
  return JSON.parse(text) as ProcessConfig;
}
