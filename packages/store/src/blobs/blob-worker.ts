/**
 * The host's side of one blob thread: calls with answers, and an end in order.
 *
 * 1. A thread that dies fails the calls that wait, each with `store/unavailable`; the host lives on.
 * 2. The database is closed before the thread is ended. A thread is ended by force only when it has given no answer for
 *    long: that is the last resort, because it may stand in the middle of a write.
 */
import { Worker } from "node:worker_threads";
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { BlobCallKind, BlobCalls, BlobReply, BlobRequest, BlobRoleData } from "./blob-calls.ts";
import { buffersToHandOver } from "./hand-over.ts";

export interface BlobWorkerLimits {
  /** calls that may wait for one thread */
  readonly callsMax: number;
  /** how long a thread may be silent while calls wait, in `ms` */
  readonly silenceMaxMs: number;
  /** how long a closed thread may take to end by itself, in `ms` */
  readonly endMaxMs: number;
}

export const blobWorkerLimits: BlobWorkerLimits = {
  callsMax: 10_000,
  silenceMaxMs: 120_000,
  endMaxMs: 5_000,
};

export interface BlobWorkerDeps {
  /** the file that the thread begins with */
  readonly entry: string;
  /** what the thread sees of the environment: nothing but where the data lies */
  readonly env: Readonly<Record<string, string>>;
  readonly data: BlobRoleData;
  readonly logger: Logger;
  readonly limits: BlobWorkerLimits;
  /** called once when the thread is gone, whatever the reason */
  readonly onEnd: () => void;
}

export interface BlobWorker {
  /**
   * Calls reach the thread in the order in which they were made. The bytes of a `put` are handed over: the caller has
   * them no more.
   */
  call<Kind extends BlobCallKind>(
    kind: Kind,
    ask: BlobCalls[Kind]["ask"],
  ): Promise<BlobCalls[Kind]["answer"]>;
  readonly waiting: number;
  /** resolves when the thread is gone */
  close(): Promise<void>;
}

interface Waiting {
  resolve(answer: BlobCalls[BlobCallKind]["answer"]): void;
  reject(error: unknown): void;
}

export function startBlobWorker(deps: BlobWorkerDeps): BlobWorker {
  const waiting = new Map<number, Waiting>();
  const outbox: BlobRequest[] = [];
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
  const { limits } = deps;
  let turns = 0;
  let silence: NodeJS.Timeout | undefined;
  let isClosing = false;
  const worker = new Worker(deps.entry, {
    name: "blobs",
    argv: ["blobs"],
    execArgv: [],
    env: { ...deps.env },
    workerData: deps.data,
  });
  // A thread that only waits is no reason for the process to stay.
  worker.unref();
  worker.on("message", (replies: readonly BlobReply[]) => {
    for (const reply of replies) hear(reply);
  });
  worker.on("error", (error) =>
    deps.logger.error(
      { event: "blobs.thread-failed", file: deps.data.path, err: error },
      "a blob thread failed",
    ),
  );
  worker.once("exit", () => {
    isClosing = true;
    clearTimeout(silence);
    for (const one of waiting.values()) one.reject(gone());
    waiting.clear();
    hasEnded();
    deps.onEnd();
  });

  function hear(reply: BlobReply): void {
    const one = waiting.get(reply.turn);
    waiting.delete(reply.turn);
    watchSilence();
    if (waiting.size === 0) worker.unref();
    if (one === undefined) return;
    if (reply.ok) one.resolve(reply.answer);
    else {
      const { code, message, hint } = reply;
      one.reject(new BoxError(code, message, hint === undefined ? {} : { hint }));
    }
  }

  /** Any answer is a sign of life. */
  function watchSilence(): void {
    if (silence === undefined) silence = setTimeout(lookForSilence, limits.silenceMaxMs).unref();
    else silence.refresh();
  }

  function lookForSilence(): void {
    silence = undefined;
    if (waiting.size > 0) endByForce();
  }

  function endByForce(): void {
    deps.logger.error({ event: "blobs.thread-stuck", file: deps.data.path }, "a blob thread gave no answer");
    void worker.terminate();
  }

  function post<Kind extends BlobCallKind>(
    kind: Kind,
    ask: BlobCalls[Kind]["ask"],
  ): Promise<BlobCalls[Kind]["answer"]> {
    turns += 1;
    const turn = turns;
    const { promise, resolve, reject } = Promise.withResolvers<BlobCalls[Kind]["answer"]>();
    // The thread answers each call with its own kind of answer; both sides are built from one table.
    waiting.set(turn, { resolve: (answer) => resolve(answer as BlobCalls[Kind]["answer"]), reject });
    if (waiting.size === 1) {
      worker.ref();
      watchSilence();
    }
    const request = { kind, turn, ask } as BlobRequest;
    if (outbox.length === 0) queueMicrotask(send);
    outbox.push(request);
    return promise;
  }

  /** Calls of one go share a message, in their order. */
  function send(): void {
    const requests = outbox.splice(0);
    const blobs = requests.flatMap((request) => (request.kind === "put" ? request.ask.blobs : []));
    worker.postMessage(requests, [...buffersToHandOver(blobs)]);
  }

  async function end(): Promise<void> {
    if (!isClosing) {
      isClosing = true;
      // What still waits is answered first. A file that can't be closed is as the fault left it.
      await post("close", null).catch(() => undefined);
    }
    const force = setTimeout(() => void worker.terminate(), limits.endMaxMs);
    await ended;
    clearTimeout(force);
  }

  return {
    call(kind, ask) {
      if (isClosing) return Promise.reject(gone());
      if (waiting.size >= limits.callsMax) {
        return Promise.reject(new BoxError("host/overloaded", "too many payloads wait to be stored"));
      }
      return post(kind, ask);
    },
    get waiting() {
      return waiting.size;
    },
    close: end,
  };
}

function gone(): BoxError {
  return new BoxError("store/unavailable", "the thread that keeps large payloads has ended");
}
