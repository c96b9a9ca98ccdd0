/**
 * The repairs of one host: at most one at a time for each store, each on a thread of its own, and what came of them.
 *
 * While a store is repaired its callers are told to come back; everything else goes on. A store that can't be repaired
 * stays refused, and so does one that is damaged again and again: then it is the disk.
 */
import type { Logger } from "@sand/node-kit";
import { type AgentId, BoxError } from "@sand/protocol";
import type { RecoveryReport } from "./recovery-report.ts";

export interface RepairRequest {
  readonly path: string;
  readonly agentId: AgentId;
  readonly reason: string;
}

export interface StoreRepairsDeps {
  readonly run: (request: RepairRequest) => Promise<RecoveryReport>;
  readonly logger: Logger;
  /** The store may be opened again. The repair counts as ended when what is done then has ended; must not reject. */
  readonly onRepaired: (agentId: AgentId, report: RecoveryReport) => Promise<void> | void;
  readonly onFailed: (agentId: AgentId, error: BoxError) => void;
}

export interface StoreRepairs {
  /** Begins a repair of a store that nobody has open any more. Returns what the store's callers get. */
  begin(request: RepairRequest): BoxError;
  /** why the store can't be opened now */
  refusal(path: string): BoxError | undefined;
  /** the end of the store's repair, when one is under way; never rejects */
  ending(path: string): Promise<void> | undefined;
  /** resolves when none is under way */
  settled(): Promise<void>;
}

/** repairs of one store in the life of a process */
const repairsMax = 3;

export function createStoreRepairs(deps: StoreRepairsDeps): StoreRepairs {
  /** stores that nobody may open */
  const running = new Set<string>();
  const endings = new Map<string, Promise<void>>();
  const failed = new Map<string, BoxError>();
  const counts = new Map<string, number>();

  async function repair(request: RepairRequest): Promise<void> {
    const { path, agentId, reason } = request;
    deps.logger.error(
      { event: "store.repairing", agentId, file: path, reason },
      "a damaged store is repaired",
    );
    try {
      const report = await deps.run(request);
      running.delete(path);
      deps.logger.error(
        { event: "store.repaired", agentId, file: path, ...summaryOf(report) },
        "a damaged store was repaired; its report lies beside the damaged files",
      );
      await deps.onRepaired(agentId, report);
    } catch (error) {
      const refusal = asRefusal(error);
      failed.set(path, refusal);
      running.delete(path);
      deps.logger.error({ event: "store.repair-failed", agentId, file: path, err: error }, refusal.message);
      deps.onFailed(agentId, refusal);
    }
  }

  function refusal(path: string): BoxError | undefined {
    return running.has(path) ? beingRepaired() : failed.get(path);
  }

  return {
    refusal,
    begin(request) {
      const already = refusal(request.path);
      if (already !== undefined) return already;
      const count = (counts.get(request.path) ?? 0) + 1;
      counts.set(request.path, count);
      if (count > repairsMax) {
        const again = new BoxError("store/damaged", "the store was damaged again after its repair", {
          hint: "check the disk's health",
        });
        failed.set(request.path, again);
        return again;
      }
      running.add(request.path);
      const ending = repair(request).finally(() => {
        if (endings.get(request.path) === ending) endings.delete(request.path);
      });
      endings.set(request.path, ending);
      return beingRepaired();
    },
    ending: (path) => endings.get(path),
    async settled() {
      while (endings.size > 0) await Promise.all(endings.values());
    },
  };
}

function beingRepaired(): BoxError {
  return new BoxError("store/unavailable", "the store is damaged and is being repaired", {
    hint: "try again in some seconds; getHostStatus tells what came of it",
  });
}

function asRefusal(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  return new BoxError("store/damaged", "the store is damaged and couldn't be repaired", {
    cause: error,
    hint: "restore the agent's folder from a copy, or delete the agent",
  });
}

function summaryOf(report: RecoveryReport): object {
  const { quarantine, lostEntryCount, lostPromptCount, mayHaveLostMore, settledTurns } = report;
  const kept = Object.fromEntries(
    Object.entries(report.tables).map(([table, { kept: rows }]) => [table, rows]),
  );
  return { quarantine, kept, lostEntryCount, lostPromptCount, mayHaveLostMore, settledTurns };
}
