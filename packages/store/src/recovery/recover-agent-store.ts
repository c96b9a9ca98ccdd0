/**
 * Repairs an agent's damaged store: reads what can be read, builds a new file of it, and puts that in its place.
 *
 * 1. The damaged files are only read until the new one is whole, verified and on disk; then they are moved aside, never
 *    deleted. A crash at any moment leaves either the damaged files, or a finished replacement that the next opening
 *    installs (`finishInstall`).
 * 2. Where nothing can be read, nothing is installed: an empty conversation would look like one that never began.
 * 3. The caller sees to it that nobody has the file open.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { syncFolder, writeFileAtomicSync } from "@sand/node-kit";
import { type AgentId, BoxError } from "@sand/protocol";
import { quarantine } from "../quarantine.ts";
import { buildReplacement } from "./build-replacement.ts";
import { type FoundRows, findRows } from "./find-rows.ts";
import { type MendedTurns, mendTurns } from "./mend-turns.ts";
import { openPageImage } from "./page-image.ts";
import { readSchema } from "./read-schema.ts";
import { namedMax, type RecoveryReport, type TableReport } from "./recovery-report.ts";
import { type Salvaged, type SalvagedRows, type SalvageRules, salvageRows } from "./salvage-rows.ts";

export interface RecoverOptions {
  /** the database's file, in its agent's folder */
  readonly path: string;
  readonly agentId: AgentId;
  readonly nowMs: number;
  /** what the damage showed by */
  readonly reason: string;
  /** no number up to here may be given out again */
  readonly seqAtLeast: number;
  /** for a negative control only */
  readonly rules?: SalvageRules;
  /** a test may stop at one of the steps, as a crash would */
  readonly onStep?: (step: "built" | "ready" | "moved") => void;
}

/** larger files are left to a restore from a snapshot: their rows wouldn't fit into memory, in bytes */
const salvageMaxBytes = 2 * 1_024 * 1_048_576;

const reportFileName = "report.json";

export function recoverAgentStore(options: RecoverOptions): RecoveryReport {
  const { path } = options;
  refuseTooLarge(path);
  const found = readDamaged(path);
  const salvaged = salvageRows(found.rows, options.rules);
  refuseEmpty(salvaged);
  const lost = nameLost(found.rows, salvaged);
  const mended = mendTurns(salvaged, { nowMs: options.nowMs, lostEntries: lost.entriesKnown });
  const highestSeq = Math.max(options.seqAtLeast, highestOf(salvaged));
  const building = `${path}.building`;
  removeWithLog(building);
  buildReplacement(building, {
    agentId: options.agentId,
    values: [...salvaged.kv.rows.values()],
    entries: [...salvaged.transcript_entries.rows.values()],
    mended,
    highestSeq,
  });
  syncFile(building);
  options.onStep?.("built");
  renameSync(building, replacementPath(path));
  syncFolder(dirname(path));
  options.onStep?.("ready");
  const hashes = hashParts(path);
  const moved = install(path, options.nowMs, options.onStep);
  const report = makeReport(options, {
    salvaged,
    mended,
    lost,
    hashes,
    damagedFrames: found.damagedFrames,
    moved,
  });
  if (moved !== undefined) {
    writeFileAtomicSync(join(moved, reportFileName), `${JSON.stringify(report, undefined, 2)}\n`);
  }
  return report;
}

function replacementPath(path: string): string {
  return `${path}.repaired`;
}

/** Ends what a crash cut off: a finished replacement whose place is free. Returns whether there was one. */
export function finishInstall(path: string, nowMs: number): boolean {
  if (existsSync(path) || !existsSync(replacementPath(path))) return false;
  install(path, nowMs);
  return true;
}

/** What is left of the damaged files goes first: an old log beside the new file would be read as the new one's. */
function install(path: string, nowMs: number, onStep?: RecoverOptions["onStep"]): string | undefined {
  const moved = quarantine(path, nowMs);
  onStep?.("moved");
  renameSync(replacementPath(path), path);
  syncFolder(dirname(path));
  return moved;
}

function refuseTooLarge(path: string): void {
  const bytes =
    (statSync(path, { throwIfNoEntry: false })?.size ?? 0) +
    (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  if (bytes <= salvageMaxBytes) return;
  throw new BoxError("store/damaged", "the store is damaged, and too large to be repaired by itself", {
    hint: "restore the agent's folder from a snapshot",
  });
}

function readDamaged(path: string): { readonly rows: FoundRows; readonly damagedFrames: number } {
  using image = openPageImage(path);
  return { rows: findRows(image, readSchema(image)), damagedFrames: image.damagedFrames };
}

function refuseEmpty(salvaged: Salvaged): void {
  const { kv, transcript_entries: entries, prompts, turns } = salvaged;
  if (kv.rows.size + entries.rows.size + prompts.rows.size + turns.rows.size > 0) return;
  throw new BoxError("store/damaged", "the store is damaged, and nothing in it can be read", {
    hint: "restore the agent's folder from a copy, or delete the agent",
  });
}

interface Lost {
  readonly entries: readonly string[];
  /** `undefined` when more may be lost than is known */
  readonly entriesKnown: ReadonlySet<string> | undefined;
  readonly prompts: readonly string[];
  readonly isAllKnown: boolean;
}

/** What is lost is named by the indexes, which lie on other pages than the rows. */
function nameLost({ tables }: FoundRows, salvaged: Salvaged): Lost {
  const entryIds = idsOf(tables, "sqlite_autoindex_transcript_entries_1");
  const nonces = idsOf(tables, "sqlite_autoindex_prompts_2");
  const entries = entryIds.ids.filter((id) => !salvaged.transcript_entries.rows.has(id));
  const kept = new Set([...salvaged.prompts.rows.values()].map(({ nonce }) => nonce));
  const prompts = nonces.ids.filter((nonce) => !kept.has(nonce));
  const isEntriesKnown = salvaged.transcript_entries.isWhole || entryIds.isWhole;
  const others = [salvaged.kv, salvaged.turns, salvaged.turn_records, salvaged.set_aside];
  return {
    entries,
    entriesKnown: isEntriesKnown ? new Set(entries) : undefined,
    prompts,
    isAllKnown:
      isEntriesKnown &&
      (salvaged.prompts.isWhole || nonces.isWhole) &&
      others.every(({ isWhole }) => isWhole),
  };
}

function idsOf(
  tables: FoundRows["tables"],
  index: string,
): { readonly ids: readonly string[]; readonly isWhole: boolean } {
  const found = tables.get(index);
  if (found === undefined) return { ids: [], isWhole: false };
  const ids = found.rows.flatMap(({ values: [id] }) => (typeof id === "string" ? [id] : []));
  return {
    ids,
    isWhole: found.lostPages.length === 0 && found.badCells === 0 && ids.length === found.rows.length,
  };
}

function highestOf({ events, transcript_entries: entries }: Salvaged): number {
  let highest = 0;
  for (const { rows } of [events, entries]) {
    for (const { seq } of rows.values()) highest = Math.max(highest, Number(seq));
  }
  return highest;
}

interface Outcome {
  readonly salvaged: Salvaged;
  readonly mended: MendedTurns;
  readonly lost: Lost;
  readonly hashes: Readonly<Record<string, string>>;
  readonly damagedFrames: number;
  readonly moved: string | undefined;
}

function makeReport({ path, agentId, nowMs, reason }: RecoverOptions, outcome: Outcome): RecoveryReport {
  const { salvaged, lost, mended, moved } = outcome;
  return {
    version: 1,
    agentId,
    atMs: nowMs,
    reason,
    quarantine: moved === undefined ? "" : relative(dirname(path), moved),
    hashes: outcome.hashes,
    tables: {
      kv: tableReport(salvaged.kv),
      transcript_entries: tableReport(salvaged.transcript_entries),
      prompts: tableReport(salvaged.prompts),
      turns: tableReport(salvaged.turns),
      turn_records: tableReport(salvaged.turn_records),
      set_aside: { ...tableReport(salvaged.set_aside), kept: mended.setAside.length },
    },
    damagedFrames: outcome.damagedFrames,
    lostEntries: lost.entries.slice(0, namedMax),
    lostEntryCount: lost.entries.length,
    lostPrompts: lost.prompts.slice(0, namedMax),
    lostPromptCount: lost.prompts.length,
    mayHaveLostMore: !lost.isAllKnown,
    settledTurns: mended.settled,
  };
}

function tableReport({ rows, damaged, lostPages, unsummed }: SalvagedRows): TableReport {
  return { kept: rows.size, damaged: damaged.length, lostPages, unchecked: unsummed };
}

function hashParts(path: string): Readonly<Record<string, string>> {
  const parts = readdirSync(dirname(path)).filter((name) =>
    ["", "-wal", "-shm"].some((part) => join(dirname(path), name) === path + part),
  );
  return Object.fromEntries(parts.map((name) => [name, hashFile(join(dirname(path), name))]));
}

const hashStepBytes = 1_048_576;

function hashFile(path: string): string {
  const hash = createHash("sha256");
  const fd = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(hashStepBytes);
    for (let bytes = readSync(fd, buffer); bytes > 0; bytes = readSync(fd, buffer))
      hash.update(buffer.subarray(0, bytes));
  } finally {
    closeSync(fd);
  }
  return hash.digest("hex");
}

function syncFile(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function removeWithLog(path: string): void {
  for (const part of ["", "-wal", "-shm"]) rmSync(path + part, { force: true });
}
