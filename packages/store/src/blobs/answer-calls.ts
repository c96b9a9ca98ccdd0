/**
 * Answers the calls to one blob database, on the thread that owns it.
 *
 * 1. Calls are answered in their order. Puts that wait together share one transaction and one fsync.
 * 2. A storage fault closes the file; the next call opens it from disk and checks it first.
 * 3. What was put after a listing is never dropped by it: the host that decided to drop didn't know of it.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { finishInstall } from "../recovery/recover-agent-store.ts";
import { createReopening, type Reopening, toStoreError } from "../reopening.ts";
import { isStorageFault } from "../sqlite.ts";
import { createWalGuard } from "../wal-guard.ts";
import type { BlobCalls, BlobReply, BlobRequest, DropAsk, ListAsk } from "./blob-calls.ts";
import { type BlobDatabase, openBlobDatabase } from "./blob-database.ts";
import { checkpointRoot } from "./checkpoint-root.ts";
import { mendBlobs } from "./mend-blobs.ts";

/** the most calls of one go; the rest waits for the next */
const batchMax = 256;
/** answers that go together: more would let the first one wait for the last */
const repliesMax = 8;
/** the most names that are remembered from a listing to its drop; above it the drop is refused */
const touchedMax = 100_000;

export interface AnswerCallsDeps {
  readonly path: string;
  readonly logger: Logger;
  readonly reply: (replies: readonly BlobReply[]) => void;
}

export interface CallAnswerer {
  receive(request: BlobRequest): void;
}

export function createCallAnswerer(deps: AnswerCallsDeps): CallAnswerer {
  const queue: BlobRequest[] = [];
  const owner = ownDatabase(deps);
  const said: BlobReply[] = [];
  let scheduled = false;

  function schedule(): void {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      answerBatch(queue.splice(0, batchMax));
      schedule();
    });
  }

  function say(reply: BlobReply): void {
    said.push(reply);
    if (said.length >= repliesMax) tell();
  }

  function tell(): void {
    if (said.length > 0) deps.reply(said.splice(0));
  }

  function answerBatch(batch: readonly BlobRequest[]): void {
    for (let at = 0; at < batch.length; ) {
      const puts = leadingPuts(batch, at);
      if (puts.length > 0) {
        answerPuts(puts);
        at += puts.length;
        continue;
      }
      const request = batch[at];
      if (request !== undefined) answer(request.turn, () => owner.answer(request));
      at += 1;
    }
    tell();
  }

  function answerPuts(puts: readonly PutRequest[]): void {
    let ids: readonly string[];
    try {
      ids = owner.put(puts.flatMap(({ ask }) => ask.blobs));
    } catch (error) {
      for (const { turn } of puts) say(failed(turn, error));
      return;
    }
    let from = 0;
    for (const { turn, ask } of puts) {
      say({ turn, ok: true, answer: ids.slice(from, from + ask.blobs.length) });
      from += ask.blobs.length;
    }
  }

  function answer(turn: number, run: () => BlobCalls[BlobRequest["kind"]]["answer"]): void {
    try {
      say({ turn, ok: true, answer: run() });
    } catch (error) {
      say(failed(turn, error));
    }
  }

  return {
    receive(request) {
      queue.push(request);
      schedule();
    },
  };
}

type PutRequest = Extract<BlobRequest, { readonly kind: "put" }>;

function leadingPuts(batch: readonly BlobRequest[], from: number): readonly PutRequest[] {
  const puts: PutRequest[] = [];
  for (let at = from; at < batch.length; at += 1) {
    const request = batch[at];
    if (request?.kind !== "put") break;
    puts.push(request);
  }
  return puts;
}

/** A bug stays a bug, but its call gets an answer, and the database stays open for the others. */
function failed(turn: number, error: unknown): BlobReply {
  const { code, message, hint } =
    error instanceof BoxError
      ? error
      : new BoxError("store/unavailable", `a blob call failed: ${String(error)}`);
  return { turn, ok: false, code, message, ...(hint === undefined ? {} : { hint }) };
}

interface Listing {
  readonly epoch: string;
  readonly touched: Set<string>;
}

/** The open file with what belongs to it; opened at the first call. */
function ownDatabase({ path, logger }: AnswerCallsDeps) {
  let file: Reopening<BlobDatabase> | undefined;
  let listing: Listing | undefined;
  let isMended = false;

  function openFile(): Reopening<BlobDatabase> {
    if (file !== undefined) return file;
    finishInstall(path, Date.now());
    file = createReopening({ open: () => openBlobDatabase(path), logger, file: path });
    return file;
  }

  /** The open database. A damaged file is mended once in a thread's life; what is damaged again stays so. */
  function useFile(): { readonly opened: Reopening<BlobDatabase>; readonly blobs: BlobDatabase } {
    try {
      const opened = openFile();
      return { opened, blobs: opened.use() };
    } catch (error) {
      if (isMended || !(error instanceof BoxError && error.code === "store/damaged")) throw error;
      isMended = true;
      file = undefined;
      const { kept, movedTo } = mendBlobs(path, Date.now());
      logger.error(
        { event: "blobs.mended", file: path, kept, movedTo, err: error },
        "a damaged file of payloads was made anew",
      );
      const opened = openFile();
      return { opened, blobs: opened.use() };
    }
  }

  const refusal = createWalGuard({
    path,
    connection: () => useFile().blobs.database.connection,
    logger,
  });

  /** Whatever fails in a transaction leaves none open, and a fault of the storage leaves the file closed. */
  function guarded<T>(run: (blobs: BlobDatabase) => T): T {
    const { opened, blobs } = useFile();
    try {
      return run(blobs);
    } catch (error) {
      if (isStorageFault(error)) throw opened.fault(error);
      blobs.database.rollback();
      throw toStoreError(error);
    }
  }

  function put(blobs: readonly Uint8Array[]): readonly string[] {
    const refused = refusal();
    if (refused !== undefined) throw refused;
    const ids = guarded((database) => database.put(blobs));
    for (const id of ids) listing?.touched.add(id);
    if ((listing?.touched.size ?? 0) > touchedMax) listing = undefined;
    return ids;
  }

  function list(ask: ListAsk): BlobCalls["list"]["answer"] {
    const epoch = randomUUID();
    const blobs = guarded((database) => database.list(ask.after ?? database.settledThrough(), ask.limit));
    listing = { epoch, touched: new Set() };
    return { epoch, blobs };
  }

  function drop(ask: DropAsk): BlobCalls["drop"]["answer"] {
    const from = listing;
    listing = undefined;
    if (from?.epoch !== ask.epoch) {
      throw new BoxError("store/unavailable", "the listing is too old to drop anything by it");
    }
    const ids = ask.ids.filter((id) => !from.touched.has(id));
    // A name that was put again in the meantime keeps its old position, so the collector isn't past that yet.
    const through = ids.length === ask.ids.length ? ask.settledThrough : 0;
    return {
      dropped: guarded((database) => database.drop(ids, Math.max(through, database.settledThrough()))),
    };
  }

  return {
    put,
    answer(request: BlobRequest): BlobCalls[BlobRequest["kind"]]["answer"] {
      switch (request.kind) {
        case "put":
          return put(request.ask.blobs);
        case "get": {
          const { ids } = request.ask;
          return guarded((database) => ids.map((id) => database.get(id)));
        }
        case "checkpoint": {
          const { ask } = request;
          return guarded((database) => checkpointRoot({ put, get: database.get }, ask));
        }
        case "list":
          return list(request.ask);
        case "drop":
          return drop(request.ask);
        case "close":
          file?.close();
          file = undefined;
          return null;
      }
    },
  };
}
