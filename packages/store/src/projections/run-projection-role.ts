/** The role `projections`, a worker thread of the host. */
import { parentPort } from "node:worker_threads";

/** Resolves when the port is closed. */
export async function runProjectionRole(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the role `projections` belongs into a worker thread");
  const { promise, resolve } = Promise.withResolvers<void>();
  port.once("close", () => resolve());
  await promise;
}
