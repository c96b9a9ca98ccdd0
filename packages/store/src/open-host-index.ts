/**
 * The host's index over `<data root>/host.db`: which agents there are, which nonce went where, and the host-wide `seq`.
 *
 * 1. A cache of the agents' stores. A missing or damaged file is moved aside and built again from them.
 * 2. Rows, claims of nonces and marks are seen at once and written together some time later, so accepting a prompt costs
 *    no commit here. A start finds out which stores may know more, and reads them.
 * 3. The reserved end of `seq` is written in a transaction of its own, never inside one that could be undone.
 * 4. Opening costs the same for any number of agents. Rows are brought up to date and read afterwards, in steps; who
 *    asks for something of theirs earlier waits for the rest of it, and never sees a row that is behind its store.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { HostIndex } from "@sand/agent-core";
import type { Logger } from "@sand/node-kit";
import { type AgentId, type Clock, type CommittedEvent, invariant } from "@sand/protocol";
import { catchUpIndex } from "./catch-up-index.ts";
import { createDeferredSteps, type DeferredSteps } from "./deferred-steps.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import { type IndexTx, type OpenedIndex, openIndexFile } from "./index-file.ts";
import { indexCounters } from "./index-schema.ts";
import { publishSafely } from "./publish-safely.ts";
import { quarantine } from "./quarantine.ts";
import { rebuildHostIndex } from "./rebuild-host-index.ts";
import { refuseNetworkFileSystem } from "./refuse-network-file-system.ts";
import { createReopening, quickCheck, type Reopening, toStoreError } from "./reopening.ts";
import { createRoster, type Roster } from "./roster.ts";
import { createSeqAllocator, type SeqAllocator } from "./seq-allocator.ts";
import type { openDatabase } from "./sqlite.ts";
import { createWalGuard } from "./wal-guard.ts";

export interface OpenHostIndexOptions {
  /** the data root; made when it isn't there */
  readonly root: string;
  /** called synchronously after each commit of a host event, in commit order over all agents; must not throw */
  readonly onCommitted: (events: readonly CommittedEvent[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** opens the file; a test may fail one of the steps */
  readonly openFile?: typeof openDatabase;
}

/** the index, and the allocator that all stores under this root share */
export interface OpenedHostIndex extends HostIndex {
  readonly seq: SeqAllocator;
  /** false after a failed commit, until the file was reopened and checked */
  readonly healthy: boolean;
  /** Brings the rows up to date without holding up anything else. Whoever needs them earlier doesn't have to wait. */
  catchUp(): Promise<void>;
  /** Whether a turn of an earlier start may be open. Costs one look; before the rows are up to date it may be wrong one way. */
  mayHaveOpenTurns(): boolean;
  /** To be called after each commit of an agent's events, before they are published: replay asks the rows who has what. */
  noteLastSeq(agentId: AgentId, seq: number): void;
}

/** the name of the index in the data root */
export const indexFileName = "host.db";

export function openHostIndex(options: OpenHostIndexOptions): OpenedHostIndex {
  mkdirSync(options.root, { recursive: true, mode: 0o700 });
  refuseNetworkFileSystem(options.root);
  let known = 0;
  let checking = false;
  // A log is left only by a process that was killed, and then the marks of open turns may not all be there.
  const wasKilled = existsSync(`${join(options.root, indexFileName)}-wal`);
  let numbers: SeqAllocator | undefined;
  const file = createReopening<OpenedIndex>({
    open() {
      const index = openOrRebuild(options, known, checking);
      checking = true;
      // One that was built again while the host runs begins far above, and no cursor below that can be resumed.
      numbers?.skipTo(index.tx.counter(indexCounters.reservedThrough));
      return index;
    },
    logger: options.logger,
    file: join(options.root, indexFileName),
  });
  const seq = createSeqAllocator({
    reservedThrough: file.use().tx.counter(indexCounters.reservedThrough),
    reserve(through) {
      reserveSeq(file, through);
      known = through;
    },
  });
  known = seq.last();
  numbers = seq;
  const group = createGroupCommit<IndexTx>({
    target: () => file.use(),
    fault: (cause) => file.fault(cause),
    publish: publishSafely(options.onCommitted, options.logger),
    // A change of the index emits one event at most.
    prepare(changes) {
      // Opened first: numbers may be skipped then, and none can be reserved inside the transaction.
      file.use();
      seq.ensure(changes);
    },
    refusal: createWalGuard({
      path: join(options.root, indexFileName),
      connection: () => file.use().database.connection,
      logger: options.logger,
    }),
    mark: "index.",
  });
  const roster = createRoster({ group, clock: options.clock, logger: options.logger });
  const steps = createDeferredSteps(() => catchUp(options, file, roster));
  return assemble(options, { file, seq, group, roster, steps, wasKilled });
}

interface Parts {
  readonly file: Reopening<OpenedIndex>;
  readonly seq: SeqAllocator;
  readonly group: GroupCommit<IndexTx>;
  readonly roster: Roster;
  readonly steps: DeferredSteps;
  readonly wasKilled: boolean;
}

function assemble(options: OpenHostIndexOptions, parts: Parts): OpenedHostIndex {
  const { file, seq, group, roster, steps } = parts;
  const change = async <T>(fn: (tx: IndexTx) => T): Promise<T> => (await group.submit(fn)).value;

  async function close(): Promise<void> {
    roster.writeRows();
    try {
      if (!file.healthy) return;
      const closed = change((tx) => {
        // A start trusts that moment to have left nothing behind.
        if (steps.isDone && !roster.isBehind())
          tx.setCounter(indexCounters.closedAtMs, options.clock.nowMs());
      });
      group.flush();
      await closed;
    } finally {
      file.close();
    }
  }

  /** The rows, brought up to date. They are in memory then, and stay there also while the file can't be read. */
  function rows(): Roster {
    steps.settle();
    return roster;
  }

  function stored(): IndexTx {
    steps.settle();
    return file.use().tx;
  }

  return {
    seq,
    catchUp: steps.run,
    mayHaveOpenTurns() {
      if (steps.isDone) return roster.agents().some((row) => row.hasOpenTurn);
      return parts.wasKilled || file.use().tx.hasOpenTurns();
    },
    agents: () => rows().agents(),
    putAgent: (row) => rows().putAgent(row),
    removeAgent: (agentId) => rows().removeAgent(agentId),
    noteLastSeq: (agentId, last) => rows().noteLastSeq(agentId, last),
    markOpenTurn: (agentId) => rows().markOpenTurn(agentId),
    claimNonce: (nonce, agentId) => rows().claimNonce(nonce, agentId),
    findNonce: (nonce) => rows().findClaim(nonce) ?? stored().findNonce(nonce),
    findCreation: (nonce) => stored().findCreation(nonce),
    recordCreation: async (nonce, agentId, digest) => {
      steps.settle();
      await change((tx) => tx.recordCreation(nonce, { agentId, digest }));
    },
    commitHostEvent: (channel, payload) =>
      change((tx) => {
        const event = { seq: seq.next(), channel, payload };
        tx.emit(event);
        return event;
      }),
    hostEventsSince: (since, limit) => file.use().log.since(since, limit),
    resumeFloor() {
      const { tx, log } = file.use();
      return Math.max(tx.counter(indexCounters.resumeFloor), log.trimmedThrough());
    },
    lastSeq: () => seq.last(),
    get healthy() {
      return file.healthy;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Opens the file; one that is missing or damaged is built again. A newer schema or an unreadable disk is refused. */
function openOrRebuild(options: OpenHostIndexOptions, seqAtLeast: number, check: boolean): OpenedIndex {
  const path = join(options.root, indexFileName);
  const open = (): OpenedIndex => openIndexFile(path, false, options.openFile);
  if (existsSync(path)) {
    try {
      return check ? openChecked(open) : openReadable(open);
    } catch (error) {
      const reason = toStoreError(error);
      if (reason.code !== "store/damaged") throw reason;
      const moved = quarantine(path, options.clock.nowMs());
      options.logger.error(
        { event: "index.damaged", moved, err: reason },
        "the index is damaged and is built again",
      );
    }
  }
  rebuildHostIndex({ root: options.root, path, seqAtLeast, clock: options.clock, logger: options.logger });
  return open();
}

/** A damaged page shows when it is read, so what every start needs is read before the file counts as good. */
function openReadable(open: () => OpenedIndex): OpenedIndex {
  return closeIfFails(open(), (index) => void index.tx.counter(indexCounters.reservedThrough));
}

function openChecked(open: () => OpenedIndex): OpenedIndex {
  return closeIfFails(open(), (index) => {
    quickCheck(index.database.connection);
    index.tx.agents();
  });
}

function closeIfFails(index: OpenedIndex, check: (index: OpenedIndex) => void): OpenedIndex {
  try {
    check(index);
    return index;
  } catch (error) {
    index.database.close();
    throw error;
  }
}

/** Brings the rows up to date, then into memory. Damage that shows on the way is repaired like any other, once. */
function* catchUp(
  options: OpenHostIndexOptions,
  file: Reopening<OpenedIndex>,
  roster: Roster,
): Generator<undefined, void> {
  const readRows = function* (): Generator<undefined, void> {
    yield* catchUpIndex(options, file.use);
    roster.load(file.use().tx.agents());
  };
  try {
    yield* readRows();
  } catch (error) {
    const reason = file.fault(error);
    if (reason.code !== "store/damaged") throw reason;
    yield* readRows();
  }
}

function reserveSeq(file: Reopening<OpenedIndex>, through: number): void {
  try {
    const { database, tx } = file.use();
    invariant(!database.connection.inTransaction, "a block of seq is reserved in its own transaction");
    tx.setCounter(indexCounters.reservedThrough, through);
  } catch (error) {
    throw file.fault(error);
  }
}
