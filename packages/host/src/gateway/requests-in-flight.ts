/**
 * Knows when no request is being answered. Node counts a connection that never carried a request as a busy one, so a
 * server that waits for its connections would wait for each spare one that a client has opened and left.
 */
import type { Server } from "node:http";

export interface RequestsInFlight {
  /** resolves when none is in flight, perhaps at once */
  whenNone(): Promise<void>;
}

export function countRequests(server: Server): RequestsInFlight {
  let count = 0;
  const waiting: (() => void)[] = [];
  server.on("request", (_request, response) => {
    count += 1;
    response.once("close", () => {
      count -= 1;
      if (count === 0) for (const resolve of waiting.splice(0)) resolve();
    });
  });
  return {
    whenNone: () => new Promise((resolve) => (count === 0 ? resolve() : waiting.push(resolve))),
  };
}
