/**
 * Brings pieces that the store doesn't have yet into it, a few at a time.
 *
 * While a database is pinned nothing may be waited for, so its new pieces are held first: in memory, and beyond a limit
 * as files of the stage. Those are read back and proved before they are sent, and removed at once.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSemaphore } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { sha256Of } from "./hash.ts";
import { snapshotLimits } from "./limits.ts";
import { type ObjectStore, storeKeys } from "./object-store.ts";

export interface ChunkUploads {
  readonly objects: number;
  readonly bytes: number;
  /** keeps a piece until `send`; does nothing for one that the store has */
  hold(sha256: string, piece: Buffer): void;
  /** Begins to bring what is held into the store, waiting for free places only. */
  send(): Promise<void>;
  /** drops what is held */
  drop(): void;
  /** resolves when everything that was sent is in the store; throws the first failure */
  finish(): Promise<void>;
}

export interface ChunkUploadsDeps {
  readonly store: ObjectStore;
  /** pieces that the store has for certain */
  readonly known: ReadonlySet<string>;
  /** emptied at the start */
  readonly stageFolder: string;
}

export function createChunkUploads({ store, known, stageFolder }: ChunkUploadsDeps): ChunkUploads {
  const held = new Map<string, Buffer | "staged">();
  const sent = new Set<string>();
  const places = createSemaphore(store.parallel);
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let heldBytes = 0;
  let bytes = 0;
  rmSync(stageFolder, { recursive: true, force: true });

  function take(sha256: string, piece: Buffer | "staged"): Buffer {
    if (piece !== "staged") return piece;
    const path = join(stageFolder, sha256);
    const read = readFileSync(path);
    rmSync(path, { force: true });
    if (sha256Of(read) === sha256) return read;
    throw new BoxError("box-store/damaged", "a staged piece changed on disk");
  }

  async function upload(sha256: string, piece: Buffer, release: () => void): Promise<void> {
    try {
      await store.put(storeKeys.object(sha256), piece);
      bytes += piece.length;
    } catch (error) {
      failure ??= { error };
    } finally {
      release();
    }
  }

  function throwFailure(): void {
    if (failure !== undefined) throw failure.error;
  }

  return {
    get objects() {
      return sent.size;
    },
    get bytes() {
      return bytes;
    },
    hold(sha256, piece) {
      if (known.has(sha256) || sent.has(sha256) || held.has(sha256)) return;
      const fits = heldBytes + piece.length <= snapshotLimits.heldMaxBytes;
      if (fits) heldBytes += piece.length;
      else {
        mkdirSync(stageFolder, { recursive: true, mode: 0o700 });
        writeFileSync(join(stageFolder, sha256), piece, { mode: 0o600 });
      }
      held.set(sha256, fits ? piece : "staged");
    },
    async send() {
      for (const [sha256, piece] of held) {
        const release = await places.acquire();
        throwFailure();
        sent.add(sha256);
        const work = upload(sha256, take(sha256, piece), release).finally(() => running.delete(work));
        running.add(work);
      }
      held.clear();
      heldBytes = 0;
    },
    drop() {
      for (const [sha256, piece] of held)
        if (piece === "staged") rmSync(join(stageFolder, sha256), { force: true });
      held.clear();
      heldBytes = 0;
    },
    async finish() {
      await Promise.all(running);
      throwFailure();
      await store.settle();
      rmSync(stageFolder, { recursive: true, force: true });
    },
  };
}
