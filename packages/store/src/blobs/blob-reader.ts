/**
 * Reads payloads on the host's own thread, where a caller can't wait: one blob at a time, verified, through a connection
 * that only reads. What was read, or brought in ahead by the blob thread, is kept for a while within a limit.
 */
import { existsSync } from "node:fs";
import { toStoreError } from "../reopening.ts";
import { type Connection, openForReading } from "../sqlite.ts";
import { verifiedBlob } from "./blob-id.ts";

/** payloads that are kept in memory for one agent, in characters */
export const keptMaxChars = 16 * 1_048_576;
/** how long what nobody reads is kept, and the connection stays open, in `ms` */
const keptMs = 15_000;

export interface BlobReader {
  read(id: string): string;
  has(id: string): boolean;
  /** verified already */
  bringIn(id: string, data: Uint8Array): void;
  close(): void;
}

export function createBlobReader(path: string): BlobReader {
  const kept = new Map<string, string>();
  let chars = 0;
  let opened: OpenedForReading | undefined;
  let timer: NodeJS.Timeout | undefined;

  function keep(id: string, text: string): void {
    if (kept.has(id) || text.length > keptMaxChars) return;
    kept.set(id, text);
    chars += text.length;
    for (const [oldest, held] of kept) {
      if (chars <= keptMaxChars) break;
      kept.delete(oldest);
      chars -= held.length;
    }
  }

  function letGo(): void {
    kept.clear();
    chars = 0;
    opened?.connection.close();
    opened = undefined;
  }

  function stayAwhile(): void {
    if (timer !== undefined) {
      timer.refresh();
      return;
    }
    timer = setTimeout(() => {
      timer = undefined;
      letGo();
    }, keptMs);
    timer.unref();
  }

  function readFromDisk(id: string): string {
    // A connection from before the file was mended sees the damaged one; a fresh one decides.
    const wasOpen = opened !== undefined;
    try {
      // No file is as if the blob weren't in it.
      if (opened === undefined && existsSync(path)) opened = openBlobs(path);
      return decode(verifiedBlob(id, opened?.data(id)));
    } catch (error) {
      opened?.connection.close();
      opened = undefined;
      if (wasOpen) return readFromDisk(id);
      throw toStoreError(error);
    }
  }

  return {
    read(id) {
      stayAwhile();
      const held = kept.get(id);
      if (held !== undefined) return held;
      const text = readFromDisk(id);
      keep(id, text);
      return text;
    },
    has: (id) => kept.has(id),
    bringIn(id, data) {
      stayAwhile();
      keep(id, decode(data));
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
      letGo();
    },
  };
}

interface OpenedForReading {
  readonly connection: Connection;
  data(id: string): Buffer | undefined;
}

function openBlobs(path: string): OpenedForReading {
  const connection = openForReading(path);
  try {
    const select = connection.prepare<unknown[], Buffer>("SELECT data FROM blobs WHERE id = ?").pluck();
    return { connection, data: (id) => select.get(id) };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function decode(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8");
}
