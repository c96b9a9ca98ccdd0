/**
 * Makes a new `host.db` from the agents' stores, which alone are authority.
 *
 * 1. The new file gets its name only when it is complete, so a crash in the middle starts over.
 * 2. Numbers go on well above all that the stores hold: events that lay in the lost index had numbers too, and none may
 *    be given out twice. No cursor from before can be resumed.
 * 3. A store that can't be read is left out and reported; it doesn't stop the others.
 */
import { renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Logger, syncFolder } from "@sand/node-kit";
import type { ClientNonce, Clock } from "@sand/protocol";
import { type AgentFolder, listAgentFolders } from "./agent-folders.ts";
import { type IndexTx, openIndexFile } from "./index-file.ts";
import { indexCounters } from "./index-schema.ts";
import { type ProbedStore, probeStore } from "./probe-store.ts";

export interface RebuildDeps {
  readonly root: string;
  /** the index's file */
  readonly path: string;
  /** numbers known to be given out, 0 when nothing is known */
  readonly seqAtLeast: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** how many numbers are skipped: far more than host events can have taken since the newest one in a store */
export const rebuildLeap = 1_048_576;

export function rebuildHostIndex(deps: RebuildDeps): void {
  const temporary = join(dirname(deps.path), `.${basename(deps.path)}.rebuild`);
  for (const part of ["", "-wal", "-shm"]) rmSync(temporary + part, { force: true });
  const index = openIndexFile(temporary, true);
  try {
    const { database, tx } = index;
    database.begin();
    const folders = listAgentFolders(deps.root);
    let highest = deps.seqAtLeast;
    for (const folder of folders) highest = Math.max(highest, absorbStore(deps, tx, folder));
    // A data root without agents is new: there is nothing that a number could be repeated of.
    const start = highest === 0 && folders.length === 0 ? 0 : highest + rebuildLeap;
    tx.setCounter(indexCounters.reservedThrough, start);
    tx.setCounter(indexCounters.resumeFloor, start);
    database.commit();
  } finally {
    // Closing writes the log back into the file, so that the file alone is whole.
    index.database.close();
  }
  renameSync(temporary, deps.path);
  syncFolder(dirname(deps.path));
}

type AbsorbDeps = Pick<RebuildDeps, "clock" | "logger">;

/**
 * Claims of nonces reach the index in the order of their prompts, all but the newest, so where this many in a row are
 * there the older ones are as well. A start after a crash then reads what is new, not a ledger of years.
 */
const knownInRowMax = 512;

/** Puts one store's row and nonces into the index. Returns the store's highest `seq`, 0 for an unreadable one. */
export function absorbStore(deps: AbsorbDeps, tx: IndexTx, folder: AgentFolder): number {
  const { agentId } = folder;
  const unknown: ClientNonce[] = [];
  let knownInRow = 0;
  const probed = probeOrReport(deps.logger, folder, (nonce) => {
    // Another agent's claim doesn't count: this store has the prompt.
    const isKnown = tx.findNonce(nonce) === agentId;
    if (!isKnown) unknown.push(nonce);
    knownInRow = isKnown ? knownInRow + 1 : 0;
    return knownInRow < knownInRowMax;
  });
  if (probed === undefined) return 0;
  for (const nonce of unknown) tx.putNonce(nonce, agentId);
  if (probed.summary !== undefined) {
    const { summary, lastSeq, hasOpenTurn } = probed;
    tx.putAgent({ agentId, summary, lastSeq, hasOpenTurn, writtenAtMs: deps.clock.nowMs() });
  }
  if (probed.creation !== undefined && tx.findCreation(probed.creation.nonce) === undefined) {
    tx.recordCreation(probed.creation.nonce, { agentId, digest: probed.creation.digest });
  }
  return probed.lastSeq;
}

function probeOrReport(
  logger: Logger,
  folder: AgentFolder,
  onNonce: (nonce: ClientNonce) => boolean,
): ProbedStore | undefined {
  try {
    return probeStore(folder, onNonce);
  } catch (error) {
    logger.error(
      { event: "index.store-unreadable", agentId: folder.agentId, err: error },
      "an agent's store can't be read",
    );
    return undefined;
  }
}
