/**
 * The role `blobs`, a worker thread: it owns one agent's blob database and does nothing else. It ends when it is told to
 * close, or when its port goes.
 */
import { parentPort, workerData } from "node:worker_threads";
import { armFailpoints, createLogger } from "@sand/node-kit";
import { prepareSqlite } from "../load-sqlite.ts";
import { createCallAnswerer } from "./answer-calls.ts";
import type { BlobReply, BlobRequest, BlobRoleData } from "./blob-calls.ts";

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
    reply(reply: BlobReply) {
      port.postMessage(reply);
      if (reply.ok && reply.turn === closingTurn) port.close();
    },
  });
  let closingTurn: number | undefined;
  port.on("message", (request: BlobRequest) => {
    if (request.kind === "close") closingTurn = request.turn;
    answerer.receive(request);
  });
  port.once("close", () => resolve());
  await promise;
}
