/**
 * One agent's large payloads, as its store sees them: where they are placed, read, brought in ahead, and kept in order.
 *
 * Nothing here runs before the first large payload. The first one after a start also collects what a crash may have
 * left; after that the blobs are put in order when the agent's thread becomes idle.
 */
import { existsSync } from "node:fs";
import type { AgentTx } from "@sand/agent-core";
import type { Logger } from "@sand/node-kit";
import { BoxError, invariant, type JsonValue } from "@sand/protocol";
import type { GroupCommit } from "../group-commit.ts";
import { createPayloadCodec, type PayloadCodec, type StoredPart } from "../payload.ts";
import type { AgentWorkerPool } from "./agent-worker-pool.ts";
import { createBlobReader, keptMaxChars } from "./blob-reader.ts";
import { type CollectDeps, checkpointPayloads, collectBlobs, type StoredRoot } from "./collect-blobs.ts";
import type { PayloadRefs } from "./payload-refs.ts";
import { payloadRootKey } from "./payload-root-key.ts";
import { createStagedParts, MissingParts } from "./staged-parts.ts";

/** payloads that are asked for together when they are brought in ahead */
const preloadMax = 16;

export interface SettledPayloads {
  /** the blob from which every payload can be reached; `null` when there is none */
  readonly root: string | null;
  readonly removed: number;
}

export interface AgentBlobsDeps {
  readonly path: string;
  /** absent: nothing is placed in blobs, what lies there is read */
  readonly pool: AgentWorkerPool | undefined;
  readonly logger: Logger;
  readonly group: () => GroupCommit<AgentTx>;
  /** of the file that is open now */
  readonly refs: () => PayloadRefs;
  readonly rootValue: () => JsonValue | undefined;
  /** up to which events are gone */
  readonly trimmedThrough: () => number;
}

type Submit = GroupCommit<AgentTx>["submit"];

export interface AgentBlobs {
  codec(refs: PayloadRefs): PayloadCodec;
  readonly submit: Submit;
  /** brings in the first ones, as many as are kept */
  bringIn(parts: readonly StoredPart[]): Promise<void>;
  settle(): Promise<SettledPayloads>;
  close(): Promise<void>;
}

export function createAgentBlobs(deps: AgentBlobsDeps): AgentBlobs {
  const { path, pool, logger } = deps;
  const reader = createBlobReader(path);
  const staged = createStagedParts({ put: (blobs) => ask("put", { blobs }) });
  let isInUse = false;
  let isClosed = false;
  let settling: Promise<SettledPayloads> | undefined;

  /** Asks the agent's thread. A closed store starts no thread again. */
  const ask: CollectDeps["ask"] = (kind, request) => {
    invariant(pool !== undefined, "payloads are placed only where there are threads for them");
    if (isClosed) return Promise.reject(new BoxError("store/unavailable", "the store is closed"));
    return pool.call(path, kind, request);
  };

  /** A small change passes through as if this weren't here. */
  const submit: Submit = (change) =>
    deps
      .group()
      .submit(change)
      .catch((error: unknown) => {
        if (!(error instanceof MissingParts)) throw error;
        const attempt = staged.retry(error, (within) =>
          deps.group().submit((tx) => within(() => change(tx))),
        );
        return attempt.finally(noteUse);
      });

  function noteUse(): void {
    pool?.onIdle(path, settleQuietly);
    if (isInUse) return;
    isInUse = true;
    void settleQuietly();
  }

  async function settleQuietly(): Promise<void> {
    try {
      await settle();
    } catch (error) {
      if (isClosed) return;
      logger.warn(
        { event: "blobs.unsettled", file: path, err: error },
        "payloads couldn't be put in order now",
      );
    }
  }

  /** One at a time; whoever asks while one is under way gets that one's result. */
  function settle(): Promise<SettledPayloads> {
    settling ??= settleOnce().finally(() => {
      settling = undefined;
    });
    return settling;
  }

  async function settleOnce(): Promise<SettledPayloads> {
    const nothingYet = deps.refs().count() === 0 && !existsSync(path);
    if (pool === undefined || nothingYet) return { root: null, removed: 0 };
    const parts: CollectDeps = {
      ask,
      refs: deps.refs,
      isPinned: staged.isPinned,
      storedRoot: () => readStoredRoot(deps.rootValue()),
      commitRoot,
    };
    const nodes = await checkpointPayloads(parts);
    return { root: nodes?.root ?? null, removed: await collectBlobs(parts, nodes) };
  }

  async function commitRoot(root: StoredRoot | null): Promise<void> {
    await deps.group().submit((tx) => {
      deps.refs().forgetEvents(deps.trimmedThrough());
      if (root !== null) tx.setValue(payloadRootKey, { blob: root.blob, payloads: root.payloads });
    });
  }

  return {
    codec: (refs) =>
      createPayloadCodec({
        readBlob: (id) => reader.read(id),
        ...(pool === undefined
          ? {}
          : {
              placeParts(parts, holder) {
                const stored = staged.place(parts);
                for (const { id, bytes } of stored) refs.keep(id, bytes, holder);
                return stored;
              },
            }),
      }),
    submit,
    async bringIn(parts) {
      const wanted = choose(parts).filter((id) => !reader.has(id));
      for (let from = 0; pool !== undefined && from < wanted.length; from += preloadMax) {
        const ids = wanted.slice(from, from + preloadMax);
        const found = await ask("get", { ids });
        for (const [index, data] of found.entries()) reader.bringIn(ids[index] ?? "", data);
      }
    },
    settle,
    async close() {
      isClosed = true;
      reader.close();
      await pool?.release(path);
    },
  };
}

/** More than the reader keeps would push the first ones out again. */
function choose(parts: readonly StoredPart[]): readonly string[] {
  const chosen = new Set<string>();
  let sum = 0;
  for (const { id, bytes } of parts) {
    if (chosen.has(id)) continue;
    sum += bytes;
    if (sum > keptMaxChars) break;
    chosen.add(id);
  }
  return [...chosen];
}

/** Written by `commitRoot` only. */
function readStoredRoot(value: JsonValue | undefined): StoredRoot | null {
  if (typeof value !== "object" || value === null || !("blob" in value)) return null;
  const { blob, payloads } = value;
  return typeof blob === "string" && typeof payloads === "number" ? { blob, payloads } : null;
}
