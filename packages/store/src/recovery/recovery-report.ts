/** What a repair says: what was kept, what is lost, and where the damaged files lie. */
import type { AgentId } from "@sand/protocol";
import type { SalvagedTable } from "./table-shapes.ts";

export interface TableReport {
  readonly kept: number;
  /** rows that were read and weren't what was written */
  readonly damaged: number;
  /** pages of the table that couldn't be read */
  readonly lostPages: number;
  /** of the kept ones, those without a checksum to compare with */
  readonly unchecked: number;
}

export interface RecoveryReport {
  readonly version: 1;
  readonly agentId: AgentId;
  /** in `ms` */
  readonly atMs: number;
  readonly reason: string;
  /** where the damaged files lie, relative to the agent's folder */
  readonly quarantine: string;
  /** the SHA-256 of each damaged file */
  readonly hashes: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<Exclude<SalvagedTable, "events">, TableReport>>;
  /** commits of the log that were on disk once and could be read in part only */
  readonly damagedFrames: number;
  /** lost entries whose ids are known: at most `namedMax` of them */
  readonly lostEntries: readonly string[];
  readonly lostEntryCount: number;
  /** nonces of prompts that are lost: at most `namedMax` of them */
  readonly lostPrompts: readonly string[];
  readonly lostPromptCount: number;
  /** whether lost rows may exist that nothing names any more */
  readonly mayHaveLostMore: boolean;
  /** turns that were open and were settled, since it isn't known what they did last */
  readonly settledTurns: readonly string[];
}

/** lost rows that a report names; their number is told in full */
export const namedMax = 1_000;
