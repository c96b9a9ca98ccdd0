/**
 * Damaged stores of this host: has them repaired beside everything else, takes the agent up again, and keeps what came
 * of it where `getHostStatus` finds it, also after a restart.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Logger, writeFileAtomicSync } from "@sand/node-kit";
import { type AgentId, type Clock, isSafeAgentId, type StoreRepair } from "@sand/protocol";
import {
  createStoreRepairs,
  type RecoveryReport,
  repairOnThread,
  type StoreRepairs,
  storeFileName,
} from "@sand/store";
import { agentsFolder } from "../agents/agent-files.ts";
import type { OpenAgents } from "../agents/open-agents.ts";

export interface RepairDeskDeps {
  readonly dataRoot: string;
  /** the program that plays the role of the thread */
  readonly entry: string;
  readonly failpoint?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** no number up to it may be given out again */
  lastSeq(): number;
}

/** what a repaired agent is taken up with */
export interface RepairedAgents {
  readonly open: OpenAgents;
  wake(agentId: AgentId): void;
}

export interface RepairDesk {
  readonly repairs: StoreRepairs;
  /** newest last */
  notes(): readonly StoreRepair[];
  /** a store has lost its newest changes without any other sign of damage */
  noteBehind(agentId: AgentId, lastSeq: number, knownSeq: number): void;
  /** From here on repaired agents are taken up again. */
  serve(agents: RepairedAgents): void;
  /**
   * Opens agents that have a folder and no row, since their stores couldn't be read; damaged ones are repaired then.
   * Ends early with the signal.
   */
  openUnlisted(listed: ReadonlySet<AgentId>, signal: AbortSignal): Promise<void>;
  /**
   * Waits for the end of the agent's repair. False when none is under way, or when it goes on for too long; after true
   * the store tells by itself what came of it.
   */
  whenRepaired(agentId: AgentId): Promise<boolean>;
}

/** notes that are kept; the reports themselves stay beside the damaged files */
const notesMax = 100;
/** how long a request waits for a repair: shorter than clients commonly wait for an answer, in `ms` */
const waitMaxMs = 15_000;

export function createRepairDesk(deps: RepairDeskDeps): RepairDesk {
  const { dataRoot, clock, logger } = deps;
  const file = join(dataRoot, "store-repairs.json");
  let kept: StoreRepair[] | undefined;
  let agents: RepairedAgents | undefined;

  function notes(): StoreRepair[] {
    kept ??= readNotes(file);
    return kept;
  }

  function note(entry: StoreRepair): void {
    kept = [...notes(), entry].slice(-notesMax);
    try {
      writeFileAtomicSync(file, `${JSON.stringify(kept)}\n`);
    } catch (error) {
      logger.warn({ event: "store.note-unwritten", err: error }, "a note of a repair couldn't be stored");
    }
  }

  async function takeUp(agentId: AgentId): Promise<void> {
    if (agents === undefined) return;
    // What was open holds a view of the turn from before the repair.
    await agents.open.close(agentId);
    const handle = await agents.open.open(agentId);
    await handle.commit((tx) => tx.rosterChanged());
    agents.wake(agentId);
  }

  const repairs = createStoreRepairs({
    run: (request) => {
      const { failpoint } = deps;
      const thread = { entry: deps.entry, root: dataRoot, ...(failpoint === undefined ? {} : { failpoint }) };
      return repairOnThread(thread, { ...request, nowMs: clock.nowMs(), seqAtLeast: deps.lastSeq() });
    },
    logger,
    async onRepaired(agentId, report) {
      note(noteOf(report));
      await takeUp(agentId).catch((error: unknown) =>
        logger.error(
          { event: "store.not-taken-up", agentId, err: error },
          "a repaired agent can't be opened",
        ),
      );
    },
    onFailed: (agentId, error) =>
      note({ ...emptyNote, agentId, atMs: clock.nowMs(), outcome: "failed", reason: error.message }),
  });

  return {
    repairs,
    notes,
    noteBehind(agentId, lastSeq, knownSeq) {
      const reason = `changes after ${lastSeq} up to ${knownSeq} are lost: its log is missing or was cut off`;
      logger.error(
        { event: "store.behind", agentId, lastSeq, knownSeq },
        "a store has lost its newest changes",
      );
      note({ ...emptyNote, agentId, atMs: clock.nowMs(), outcome: "behind", reason, mayHaveLostMore: true });
    },
    serve(served) {
      agents = served;
    },
    async openUnlisted(listed, signal) {
      for (const agentId of readdirSync(agentsFolder(dataRoot)).filter(isSafeAgentId)) {
        // Each costs an opening of its file, so whoever ends the host or asks it something has a turn in between.
        await setImmediate();
        if (signal.aborted) return;
        // A folder without a store is no damage, and an opening would make an empty one there.
        if (listed.has(agentId) || !existsSync(join(agentsFolder(dataRoot), agentId, storeFileName)))
          continue;
        await agents?.open
          .open(agentId)
          .catch((error: unknown) =>
            logger.warn(
              { event: "store.unlisted", agentId, err: error },
              "an agent without a row can't be opened now",
            ),
          );
      }
    },
    async whenRepaired(agentId) {
      const ending = repairs.ending(join(agentsFolder(dataRoot), agentId, storeFileName));
      if (ending === undefined) return false;
      const waited = new AbortController();
      const late = clock.sleep(waitMaxMs, waited.signal).then(
        () => false,
        () => false,
      );
      const ended = await Promise.race([ending.then(() => true), late]);
      waited.abort();
      return ended;
    },
  };
}

const emptyNote = {
  quarantine: "",
  keptEntries: 0,
  lostEntries: 0,
  lostPrompts: 0,
  mayHaveLostMore: false,
  settledTurns: 0,
} as const;

function noteOf(report: RecoveryReport): StoreRepair {
  return {
    agentId: report.agentId,
    atMs: report.atMs,
    outcome: "repaired",
    reason: report.reason,
    quarantine: report.quarantine,
    keptEntries: report.tables.transcript_entries.kept,
    lostEntries: report.lostEntryCount,
    lostPrompts: report.lostPromptCount,
    mayHaveLostMore: report.mayHaveLostMore,
    settledTurns: report.settledTurns.length,
  };
}

/** Written here only; one that can't be read is as if none was there. */
function readNotes(file: string): StoreRepair[] {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as StoreRepair[];
  } catch {
    // Nothing was ever repaired, or the file was damaged itself: the reports beside the damaged files are still there.
    return [];
  }
}
