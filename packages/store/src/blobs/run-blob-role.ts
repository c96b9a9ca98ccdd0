/**
 * The role `blobs`, a worker thread: it owns one agent's blob database and does nothing else. It ends when it is told to
 * close, or when its port goes.
 */
import { parentPort, workerData } from "node:worker_threads";
import { armFailpoints, createLogger } from "@sand/node-kit";
import { prepareSqlite } from "../load-sqlite.ts";
import { createCallAnswerer } from "./answer-calls.ts";
import type { BlobReply, BlobRequest, BlobRoleData } from "./blob-calls.ts";
import { buffersToHandOver } from "./hand-over.ts";

/** Resolves when the port is closed. */
export async function runBlobRole(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the role `blobs` belongs into a worker thread");
  const { promise, resolve } = Promise.withResolvers<void>();
  const data = workerData as BlobRoleData;
  armFailpoints(data.failpoint);
  prepareSqlite({ nativesFolder: data.nativesFolder });
  const logger = createLogger({ name: "blobs", level: data.logLevel });
  const answerer = createCallAnswerer({
    path: data.path,
    logger,
    reply(replies: readonly BlobReply[]) {
      port.postMessage(replies, [...buffersToHandOver(replies.flatMap(blobsOf))]);
      if (replies.some((reply) => reply.ok && reply.turn === closingTurn)) port.close();
    },
  });
  let closingTurn: number | undefined;
  port.on("message", (requests: readonly BlobRequest[]) => {
    for (const request of requests) {
      if (request.kind === "close") closingTurn = request.turn;
      answerer.receive(request);
    }
  });
  port.once("close", () => resolve());
  await promise;
}

function blobsOf(reply: BlobReply): readonly Uint8Array[] {
  if (!reply.ok || !Array.isArray(reply.answer)) return [];
  return reply.answer.filter((one) => one instanceof Uint8Array);
}
