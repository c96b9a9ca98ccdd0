/**
 * One agent's durable state: the adapter of the store port over `<agent folder>/store.db`.
 *
 * 1. There is one connection to the file, and all of it runs synchronously on the thread of the host.
 * 2. `transact` resolves after the commit is on disk and its events are published (INV-2).
 * 3. After a storage fault nothing is written until the file was closed, opened from disk and checked.
 */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentReads, AgentStore, AgentTx } from "@sand/agent-core";
import { type Logger, syncFolder } from "@sand/node-kit";
import { type AgentId, BoxError, type CommittedEvent } from "@sand/protocol";
import { createAgentReads } from "./agent-reads.ts";
import { agentMigrations } from "./agent-schema.ts";
import { createAgentTx } from "./agent-tx.ts";
import { type AgentBlobs, createAgentBlobs } from "./blobs/agent-blobs.ts";
import type { AgentWorkerPool } from "./blobs/agent-worker-pool.ts";
import { blobFileName } from "./blobs/blob-schema.ts";
import { type BlobsOfTurns, blobsOfTurns } from "./blobs/blobs-of-turns.ts";
import { createPayloadRefs, type PayloadRefs } from "./blobs/payload-refs.ts";
import { payloadRootKey } from "./blobs/payload-root-key.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import { createGroupCommit, type GroupTarget } from "./group-commit.ts";
import { migrate } from "./migrate.ts";
import { claimFile, refuseForeign } from "./own-file.ts";
import { publishSafely } from "./publish-safely.ts";
import { checkFiles, checkSample } from "./recovery/check-cheaply.ts";
import { finishInstall } from "./recovery/recover-agent-store.ts";
import type { StoreRepairs } from "./recovery/store-repairs.ts";
import { createReopening, type Reopening } from "./reopening.ts";
import { rewriteFiles } from "./rewrite-files.ts";
import type { SeqAllocator } from "./seq-allocator.ts";
import { isDamage, openDatabase, type StoreDatabase } from "./sqlite.ts";
import { createWalGuard, type WalLimits } from "./wal-guard.ts";

export interface OpenAgentStoreOptions {
  /** the agent's folder; made when it isn't there */
  readonly directory: string;
  readonly agentId: AgentId;
  readonly seq: SeqAllocator;
  /** called synchronously after each commit, in commit order over all agents; must not throw */
  readonly onCommitted: (events: readonly CommittedEvent[]) => void;
  readonly logger: Logger;
  /** the threads that keep large payloads; everything lies in the store itself when absent */
  readonly blobWorkers?: AgentWorkerPool;
  /** repairs the file when it is damaged; a damaged one is refused when absent */
  readonly repairs?: Pick<StoreRepairs, "begin" | "refusal">;
  /** a number that the store is known to have given an event; one that has less has lost its newest changes */
  readonly knownSeq?: number;
  /** told when that is so */
  readonly onBehind?: (lastSeq: number) => void;
  /** false refuses an agent whose file is missing, instead of showing an empty one; true when absent */
  readonly create?: boolean;
  /** opens the file; a test may fail one of the steps */
  readonly openFile?: typeof openDatabase;
  readonly walLimits?: WalLimits;
}

interface OpenedStore extends GroupTarget<AgentTx> {
  readonly refs: PayloadRefs;
  readonly blobsOfTurns: BlobsOfTurns;
  readonly reads: AgentReads;
  readonly log: EventLog;
}

/** the name of an agent's database in its folder */
export const storeFileName = "store.db";

export function openAgentStore(options: OpenAgentStoreOptions): AgentStore {
  const path = join(options.directory, storeFileName);
  // Only the first opening may make the file: one that vanished later is a loss that must show.
  let create = options.create ?? true;
  const blobs = createAgentBlobs({
    path: join(options.directory, blobFileName),
    pool: options.blobWorkers,
    logger: options.logger,
    group: () => group,
    refs: () => file.use().refs,
    rootValue: () => file.use().reads.getValue(payloadRootKey),
    trimmedThrough: () => file.use().log.trimmedThrough(),
  });
  const file: Reopening<OpenedStore> = createReopening({
    open() {
      finishInstall(path, Date.now());
      checkFiles(path);
      const opened = prepareStore(options, openAgentFile(options, path, create), blobs);
      create = false;
      return opened;
    },
    // A repair that is under way has the file to itself.
    refusal: () => options.repairs?.refusal(path),
    onDamage: (reason) => repairOrRefuse(options, path, reason),
    logger: options.logger,
    file: path,
  });
  const group = createGroupCommit<AgentTx>({
    target: () => file.use(),
    fault: (cause) => file.fault(cause),
    publish: publishSafely(options.onCommitted, options.logger),
    refusal: createWalGuard({
      path,
      connection: () => file.use().database.connection,
      logger: options.logger,
      ...(options.walLimits === undefined ? {} : { limits: options.walLimits }),
    }),
    mark: "",
  });

  /** The store's file is closed when this returns, and that of the blobs when it resolves. */
  async function close(): Promise<void> {
    group.flush();
    file.close();
    await blobs.close();
  }

  return {
    agentId: options.agentId,
    read: currentReads((read) => {
      try {
        return read(file.use().reads);
      } catch (error) {
        throw isDamage(error) ? file.fault(error) : error;
      }
    }),
    transact: options.blobWorkers === undefined ? group.submit : blobs.submit,
    eventsSince: (since, limit) => file.use().log.since(since, limit),
    // What couldn't be brought in is told by the read that needs it.
    preloadPayloads: async (settledTurns) => {
      const { refs, blobsOfTurns: named } = file.use();
      if (refs.count() > 0) await blobs.bringIn(named(settledTurns)).catch(() => undefined);
    },
    settlePayloads: () => blobs.settle(),
    get healthy() {
      return file.healthy;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Another agent's file is whole, and a repair would make it this agent's. */
function repairOrRefuse(
  { repairs, agentId }: OpenAgentStoreOptions,
  path: string,
  reason: BoxError,
): BoxError {
  if (repairs === undefined || reason.details?.owner !== undefined) return reason;
  return repairs.begin({ path, agentId, reason: reason.message });
}

function openAgentFile(options: OpenAgentStoreOptions, path: string, create: boolean): StoreDatabase {
  const isNew = !existsSync(path);
  if (isNew && !create) {
    throw new BoxError("store/damaged", "the agent's store is missing", {
      hint: "restore the agent's folder from a copy, or delete the agent",
    });
  }
  if (isNew) mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  // What an earlier try to make it left may never have reached the disk.
  else if (create) rewriteFiles(path);
  const database = (options.openFile ?? openDatabase)({ path, create });
  if (create) {
    // The file's own syncs don't make its name durable, nor that of a new folder; and an earlier try may have got stuck here.
    syncFolder(options.directory);
    syncFolder(dirname(options.directory));
  }
  return database;
}

function prepareStore(
  options: OpenAgentStoreOptions,
  database: StoreDatabase,
  blobs: AgentBlobs,
): OpenedStore {
  try {
    const { connection } = database;
    migrate(connection, agentMigrations, () => claimFile(connection, options.agentId));
    refuseForeign(connection, options.agentId);
    const refs = createPayloadRefs(connection);
    const codec = blobs.codec(refs);
    const log = createEventLog(connection, codec);
    const reads = createAgentReads(connection, log, codec);
    checkSample(connection);
    if ((options.knownSeq ?? 0) > log.lastSeq()) {
      // A client that has seen what is lost must be told to read the state again.
      log.loseThrough(options.knownSeq ?? 0);
      options.onBehind?.(reads.lastSeq());
    }
    const events: CommittedEvent[] = [];
    const { agentId, seq } = options;
    const tx = createAgentTx({ connection, agentId, reads, log, codec, seq, events });
    return {
      database,
      refs,
      blobsOfTurns: blobsOfTurns(connection),
      reads,
      log,
      tx,
      events,
      finish: () => log.trim(events),
      committed: () => log.committed(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Reads of whatever file is open at the time of the call, so that a reopened store needs no new handle. */
function currentReads(ask: <T>(read: (reads: AgentReads) => T) => T): AgentReads {
  return {
    getValue: (key) => ask((reads) => reads.getValue(key)),
    findEntry: (id) => ask((reads) => reads.findEntry(id)),
    entriesBefore: (page) => ask((reads) => reads.entriesBefore(page)),
    windowBefore: (page) => ask((reads) => reads.windowBefore(page)),
    entriesInSpan: (page) => ask((reads) => reads.entriesInSpan(page)),
    repliesTo: (rootId, limit) => ask((reads) => reads.repliesTo(rootId, limit)),
    countReplies: (rootId) => ask((reads) => reads.countReplies(rootId)),
    findPrompt: (nonce) => ask((reads) => reads.findPrompt(nonce)),
    pendingPrompts: () => ask((reads) => reads.pendingPrompts()),
    openTurn: () => ask((reads) => reads.openTurn()),
    settledTurns: (page) => ask((reads) => reads.settledTurns(page)),
    records: (turnId) => ask((reads) => reads.records(turnId)),
    recordsOfKind: (turnId, kind) => ask((reads) => reads.recordsOfKind(turnId, kind)),
    lastSeq: () => ask((reads) => reads.lastSeq()),
  };
}
