/**
 * The host's side of the box store: takes snapshots when asked and from time to time, and knows how the last one went.
 *
 * All work is done by a process of its own, one at a time; asking twice at once is asking once. At rest there is a timer
 * and nothing else, and without a configured store not even that. A snapshot is due only when something was committed
 * since the last one.
 */
import type { Logger, Scope } from "@sand/node-kit";
import { createSingleFlight } from "@sand/node-kit";
import { BoxError, type CommandResponse } from "@sand/protocol";
import { type BoxStoreAnswer, callBoxStore } from "@sand/store/box-store";
import type { BoxStoreDesk } from "../gateway/host-ports.ts";
import type { BoxStoreConfig } from "./box-store-config.ts";
import {
  forgetLastSnapshot,
  type LastSnapshot,
  readLastSnapshot,
  writeLastSnapshot,
} from "./last-snapshot.ts";

export interface BoxStoreDeskDeps {
  readonly dataRoot: string;
  readonly config: BoxStoreConfig | null;
  /** the host's own program */
  readonly program: string;
  readonly scope: Scope;
  readonly logger: Logger;
  /** rises with each commit */
  lastSeq(): number;
}

interface Problem {
  readonly failureCode: string;
  readonly error: string;
}

type SnapshotAnswer = Extract<BoxStoreAnswer, { readonly kind: "snapshot" }>;

const notConfigured = {
  durable: false,
  entryCount: 0,
  storeDbEntries: 0,
  agentDirEntries: 0,
  totalBytes: 0,
  lastSnapshotAtMs: null,
} as const;

export function createBoxStoreDesk(deps: BoxStoreDeskDeps): BoxStoreDesk {
  const { config, scope, logger } = deps;
  const once = createSingleFlight<SnapshotAnswer>();
  const address = config?.access.address ?? "";
  let last: LastSnapshot | undefined | "unread" = "unread";
  let problem: Problem | undefined;
  let savedSeq = -1;

  async function call<Kind extends BoxStoreAnswer["kind"]>(
    kind: Kind,
    send: (store: BoxStoreConfig) => Promise<BoxStoreAnswer>,
  ): Promise<Extract<BoxStoreAnswer, { readonly kind: Kind }>> {
    if (config === null) {
      throw new BoxError("box-store/not-configured", "this host has no box store", {
        hint: "set SAND_BOX_STORE to a folder or to s3://bucket/prefix",
      });
    }
    const answer = await send(config);
    if (!isKind(answer, kind))
      throw new BoxError("box-store/unavailable", "the box store's process answered something else");
    return answer;
  }

  const run = (store: BoxStoreConfig) => ({
    program: deps.program,
    env: store.env,
    cwd: deps.dataRoot,
    signal: scope.signal,
  });
  const target = (store: BoxStoreConfig) => ({ root: deps.dataRoot, store: store.access });

  async function take(): Promise<SnapshotAnswer> {
    const seq = deps.lastSeq();
    try {
      const taken = await call("snapshot", (store) =>
        callBoxStore(run(store), {
          kind: "snapshot",
          ...target(store),
          keep: store.keep,
          takeOver: false,
          gentle: true,
        }),
      );
      writeLastSnapshot(deps.dataRoot, address, taken.facts);
      last = "unread";
      savedSeq = seq;
      problem =
        taken.problem === null
          ? undefined
          : { failureCode: taken.problem.code, error: taken.problem.message };
      for (const skipped of taken.facts.skipped) {
        logger.warn({ event: "box-store.skipped", ...skipped }, "a file isn't in the snapshot as it is now");
      }
      return taken;
    } catch (error) {
      if (error instanceof BoxError) problem = { failureCode: error.code, error: error.message };
      throw error;
    }
  }

  const takeOnce = (): Promise<SnapshotAnswer> => once("snapshot", take);
  if (config !== null && config.everyMs > 0)
    watchTime(deps, config.everyMs, async () => {
      if (deps.lastSeq() !== savedSeq) await takeOnce();
    });

  return {
    status() {
      if (last === "unread") last = readLastSnapshot(deps.dataRoot, address);
      return {
        ...notConfigured,
        ...(last === undefined ? {} : pick(last)),
        durable: last !== undefined && problem === undefined,
        // A root that was filled in part only isn't started on.
        fullyHydrated: true,
        ...(problem === undefined ? {} : { problem }),
      };
    },
    async snapshot() {
      const { facts: taken, isNew, uploadedBytes } = await takeOnce();
      const { id, takenAtMs, entryCount, totalBytes, skipped } = taken;
      return {
        snapshotId: id,
        isNew,
        takenAtMs,
        entryCount,
        totalBytes,
        uploadedBytes,
        skipped: [...skipped],
      };
    },
    async clear() {
      const cleared = await call("cleared", (store) =>
        callBoxStore(run(store), { kind: "clear", ...target(store) }),
      );
      forgetLastSnapshot(deps.dataRoot);
      last = "unread";
      savedSeq = -1;
      return { removedObjects: cleared.objects, removedBytes: cleared.bytes };
    },
  };
}

/** Failures are told once by each tick, as a state that somebody should look at. */
function watchTime({ scope, logger }: BoxStoreDeskDeps, everyMs: number, tick: () => Promise<void>): void {
  const timer = setInterval(() => {
    scope.run("box store", async () => {
      try {
        await tick();
      } catch (error) {
        if (scope.signal.aborted) return;
        logger.error({ event: "box-store.failed", err: error }, "the box store has no new snapshot");
      }
    });
  }, everyMs);
  timer.unref();
  scope.defer(() => clearInterval(timer));
}

type Numbers = Omit<CommandResponse<"getBoxStoreStatus">, "durable" | "fullyHydrated" | "problem">;

function pick({ entryCount, storeDbEntries, agentDirEntries, totalBytes, takenAtMs }: LastSnapshot): Numbers {
  return { entryCount, storeDbEntries, agentDirEntries, totalBytes, lastSnapshotAtMs: takenAtMs };
}

function isKind<Kind extends BoxStoreAnswer["kind"]>(
  answer: BoxStoreAnswer,
  kind: Kind,
): answer is Extract<BoxStoreAnswer, { readonly kind: Kind }> {
  return answer.kind === kind;
}
