/** Starts the thread of projections, from the file that also plays its role. */
import { Worker } from "node:worker_threads";
import { nativesFolderOf } from "../load-sqlite.ts";
import type { ProjectionReply, ProjectionRequest, ProjectionRoleData } from "./projection-messages.ts";

export interface ProjectionThread {
  send(request: ProjectionRequest): void;
  /** Asks it to end, and waits; by force when that takes too long. */
  close(): Promise<void>;
}

export interface ProjectionThreadDeps {
  /** the program that plays the role */
  readonly entry: string;
  /** the data root */
  readonly root: string;
  readonly failpoint?: string;
  readonly onReply: (reply: ProjectionReply) => void;
  readonly onError: (error: unknown) => void;
  readonly onEnd: () => void;
}

/** how long a thread that was asked to end may take, in `ms`: it finishes the chunk that it is at */
const closeMaxMs = 5_000;
/** for its objects; SQLite's own memory isn't counted */
const heapMaxMb = 512;

export function startProjectionThread(deps: ProjectionThreadDeps): ProjectionThread {
  const { entry, root, failpoint } = deps;
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
  const workerData: ProjectionRoleData = {
    role: "projections",
    root,
    nativesFolder: nativesFolderOf(root),
    failpoint,
  };
  const worker = new Worker(entry, {
    ...{ name: "projections", argv: ["projections"], execArgv: [], env: {}, workerData },
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  });
  // A thread that only waits is no reason for the process to stay.
  worker.unref();
  worker.on("message", (reply: ProjectionReply) => deps.onReply(reply));
  worker.on("error", (error) => deps.onError(error));
  worker.once("exit", () => {
    hasEnded();
    deps.onEnd();
  });

  async function close(): Promise<void> {
    worker.postMessage({ kind: "close" } satisfies ProjectionRequest);
    worker.ref();
    const force = setTimeout(() => void worker.terminate(), closeMaxMs);
    await ended;
    clearTimeout(force);
  }

  return { send: (request) => worker.postMessage(request), close };
}
