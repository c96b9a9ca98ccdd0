/**
 * The blob threads of a host: one for each database that is in use, up to a capacity.
 *
 * 1. None runs before the first large payload, and one that is idle for a while is closed.
 * 2. Where all places are taken, the longest idle thread gives way; where all are busy, the call waits its turn.
 * 3. At most one thread has a database open: its successor starts when it is gone.
 */
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { nativesFolderOf } from "../load-sqlite.ts";
import type { BlobCallKind, BlobCalls } from "./blob-calls.ts";
import { type BlobWorker, type BlobWorkerLimits, blobWorkerLimits, startBlobWorker } from "./blob-worker.ts";

export interface PoolLimits extends BlobWorkerLimits {
  /** threads at a time; each costs some 10 MB */
  readonly capacity: number;
  /** a thread that nobody asked for so long is closed, in `ms` */
  readonly idleMs: number;
  /** calls that may wait for a place */
  readonly waitersMax: number;
  /** bytes on their way to all threads */
  readonly bytesMax: number;
}

export const poolLimits: PoolLimits = {
  ...blobWorkerLimits,
  capacity: 8,
  idleMs: 15_000,
  waitersMax: 1_000,
  bytesMax: 256 * 1_048_576,
};

export interface AgentWorkerPoolOptions {
  /** the program that takes the role `blobs` in a thread: the bundle itself, or the sources' own file */
  readonly entry: string;
  readonly dataRoot: string;
  readonly logger: Logger;
  readonly failpoint?: string;
  readonly limits?: Partial<PoolLimits>;
}

export interface AgentWorkerPool extends AsyncDisposable {
  call<Kind extends BlobCallKind>(
    path: string,
    kind: Kind,
    ask: BlobCalls[Kind]["ask"],
  ): Promise<BlobCalls[Kind]["answer"]>;
  /** Called when the path's thread is about to be closed because nobody asks for it. */
  onIdle(path: string, settle: () => Promise<void>): void;
  /** closes the path's thread, after what it has been asked already */
  release(path: string): Promise<void>;
  /** paths with a thread */
  paths(): readonly string[];
  close(): Promise<void>;
}

interface Place {
  readonly worker: BlobWorker;
  /** calls that have the place, or are about to use it; it isn't idle while there is one */
  users: number;
  idle: NodeJS.Timeout | undefined;
  closing: Promise<void> | undefined;
}

export function createAgentWorkerPool(options: AgentWorkerPoolOptions): AgentWorkerPool {
  const limits: PoolLimits = { ...poolLimits, ...options.limits };
  const places = new Map<string, Place>();
  const settlers = new Map<string, () => Promise<void>>();
  const waiters: (() => void)[] = [];
  let bytes = 0;
  let isClosed = false;

  function start(path: string): Place {
    const { entry, dataRoot, logger, failpoint } = options;
    const nativesFolder = nativesFolderOf(dataRoot);
    const data = { role: "blobs", path, nativesFolder, logLevel: logger.level } as const;
    const worker = startBlobWorker({
      entry,
      env: { SAND_DATA_ROOT: dataRoot },
      data: failpoint === undefined ? data : { ...data, failpoint },
      logger,
      limits,
      onEnd() {
        clearTimeout(place.idle);
        if (places.get(path) === place) places.delete(path);
        waiters.shift()?.();
      },
    });
    const place: Place = { worker, users: 0, idle: undefined, closing: undefined };
    places.set(path, place);
    return place;
  }

  function retire(place: Place): Promise<void> {
    clearTimeout(place.idle);
    place.closing ??= place.worker.close();
    return place.closing;
  }

  function take(place: Place): Place {
    clearTimeout(place.idle);
    place.users += 1;
    return place;
  }

  /** The place of a path, when one is there and usable at once. */
  function takeReady(path: string): Place | undefined {
    const place = places.get(path);
    if (place !== undefined) return place.closing === undefined ? take(place) : undefined;
    // Nobody who came earlier is passed by.
    return places.size < limits.capacity && waiters.length === 0 ? take(start(path)) : undefined;
  }

  async function waitForPlace(path: string): Promise<Place> {
    for (let isFirst = true; ; isFirst = false) {
      refuseWhenClosed();
      const place = places.get(path);
      if (place?.closing !== undefined) {
        await place.closing;
        continue;
      }
      if (place !== undefined) return take(place);
      if (places.size < limits.capacity && (!isFirst || waiters.length === 0)) return take(start(path));
      const idle = [...places.values()].find((one) => one.users === 0 && one.closing === undefined);
      if (idle !== undefined) await retire(idle);
      else await waitForTurn(isFirst);
    }
  }

  /** One that has waited and found its place taken goes to the front again. */
  function waitForTurn(isFirst: boolean): Promise<void> {
    if (waiters.length >= limits.waitersMax) {
      throw new BoxError("host/overloaded", "too many payloads wait for a thread");
    }
    return new Promise((resolve) => (isFirst ? waiters.push(resolve) : waiters.unshift(resolve)));
  }

  function refuseWhenClosed(): void {
    if (isClosed) throw new BoxError("store/unavailable", "the threads of large payloads are closed");
  }

  async function askPlace<Kind extends BlobCallKind>(
    path: string,
    place: Place,
    call: { readonly kind: Kind; readonly ask: BlobCalls[Kind]["ask"] },
  ): Promise<BlobCalls[Kind]["answer"]> {
    // The order of the map is the order of use.
    if (places.delete(path)) places.set(path, place);
    try {
      return await place.worker.call(call.kind, call.ask);
    } finally {
      place.users -= 1;
      if (place.users === 0 && places.get(path) === place) becomeIdle(path, place);
    }
  }

  function becomeIdle(path: string, place: Place): void {
    waiters.shift()?.();
    place.idle = setTimeout(() => void closeIdle(path, place), limits.idleMs);
    place.idle.unref();
  }

  async function closeIdle(path: string, place: Place): Promise<void> {
    const settle = settlers.get(path);
    settlers.delete(path);
    // What is settled asks the thread again, which makes it idle anew; the next time there is nothing to settle.
    if (settle !== undefined) await settle();
    if (place.users === 0) await retire(place);
  }

  async function call<Kind extends BlobCallKind>(
    path: string,
    kind: Kind,
    ask: BlobCalls[Kind]["ask"],
  ): Promise<BlobCalls[Kind]["answer"]> {
    refuseWhenClosed();
    const size = sizeOf(ask);
    if (bytes + size > limits.bytesMax) {
      throw new BoxError("host/overloaded", "too many bytes of payloads wait to be stored");
    }
    bytes += size;
    try {
      return await askPlace(path, takeReady(path) ?? (await waitForPlace(path)), { kind, ask });
    } finally {
      bytes -= size;
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const wake of waiters.splice(0)) wake();
    await Promise.all([...places.values()].map(retire));
  }

  return {
    call,
    onIdle(path, settle) {
      settlers.set(path, settle);
    },
    async release(path) {
      settlers.delete(path);
      const place = places.get(path);
      if (place !== undefined) await retire(place);
    },
    paths: () => [...places.keys()],
    close,
    [Symbol.asyncDispose]: close,
  };
}

function sizeOf(ask: BlobCalls[BlobCallKind]["ask"]): number {
  if (ask === null || !("blobs" in ask)) return 0;
  return ask.blobs.reduce((sum, blob) => sum + blob.byteLength, 0);
}
