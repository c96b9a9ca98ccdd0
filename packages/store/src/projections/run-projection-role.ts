/**
 * The role `projections`, a worker thread of the host: everything that makes a projection or searches in one, so that
 * the thread of the gateway waits for none of it.
 *
 * Between two chunks it rests as long as the last one took: two processors may be all that there are, and agents' own
 * work comes first. It ends when it is told to close.
 */
import { setImmediate as nextTurn, setTimeout as rest } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { armFailpoints } from "@sand/node-kit";
import { prepareSqlite } from "../load-sqlite.ts";
import type { ProjectionReply, ProjectionRequest, ProjectionRoleData } from "./projection-messages.ts";
import { createProjector } from "./projector.ts";

/** the longest rest after one chunk, in `ms` */
const restMaxMs = 50;

/** Resolves when the port is closed. */
export async function runProjectionRole(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the role `projections` belongs into a worker thread");
  // Made by the host's own thread only.
  const data = workerData as ProjectionRoleData;
  armFailpoints(data.failpoint);
  prepareSqlite({ nativesFolder: data.nativesFolder });
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<void>();
  const say = (reply: ProjectionReply): void => port.postMessage(reply);
  const projector = createProjector({ root: data.root, say, nowMs: () => Date.now() });
  let isWorking = false;
  let isClosed = false;

  async function work(): Promise<void> {
    if (isWorking) return;
    isWorking = true;
    for (;;) {
      const beganMs = performance.now();
      if (isClosed || !projector.step()) break;
      const tookMs = performance.now() - beganMs;
      // Messages that came meanwhile are heard in either case.
      await (tookMs < 1 ? nextTurn() : rest(Math.min(tookMs, restMaxMs)));
    }
    isWorking = false;
    if (!isClosed) say({ kind: "idle" });
  }

  port.on("message", (request: ProjectionRequest) => {
    if (isClosed) return;
    isClosed = request.kind === "close";
    projector.receive(request);
    if (isClosed) port.close();
    else work().catch(fail);
  });
  port.once("close", () => end());
  await ended;
  projector.close();
}
