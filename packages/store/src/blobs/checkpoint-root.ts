/**
 * The root of an agent's payloads: one blob from which everything can be reached that its prompts and records name.
 *
 * Payloads stand in the order of their first naming, in pages of a fixed size, and the root lists the pages. A full page
 * never changes, so a new root costs the last page and itself. Whoever holds the root's name can tell whether a copy of
 * the blobs is complete, without the store.
 */

import type { CheckpointAnswer, CheckpointAsk } from "./blob-calls.ts";
import type { BlobDatabase } from "./blob-database.ts";

/** payloads of a full page */
export const rootPageSize = 1_024;

interface RootContent {
  readonly version: 1;
  readonly payloads: number;
  readonly pages: readonly string[];
}

export function checkpointRoot(
  blobs: Pick<BlobDatabase, "put" | "get">,
  ask: CheckpointAsk,
): CheckpointAnswer {
  const kept = readKeptPages(blobs, ask);
  if (kept === undefined) return { kind: "unreadable" };
  const chunks: (readonly string[])[] = [];
  for (let from = 0; from < ask.payloads.length; from += rootPageSize) {
    chunks.push(ask.payloads.slice(from, from + rootPageSize));
  }
  const fresh = blobs.put(chunks.map(toBytes));
  const pages = [...kept, ...fresh];
  const content: RootContent = { version: 1, payloads: ask.skipped + ask.payloads.length, pages };
  const [root = ""] = blobs.put([toBytes(content)]);
  const lastIsFull = content.payloads % rootPageSize === 0;
  return {
    kind: "stored",
    root: {
      root,
      fullPages: lastIsFull ? pages : pages.slice(0, -1),
      lastPage: lastIsFull ? null : (pages.at(-1) ?? null),
    },
  };
}

function readKeptPages(blobs: Pick<BlobDatabase, "get">, ask: CheckpointAsk): readonly string[] | undefined {
  const wanted = ask.skipped / rootPageSize;
  if (wanted === 0) return [];
  if (ask.previous === null) return undefined;
  try {
    const pages = readRoot(blobs.get(ask.previous)).pages.slice(0, wanted);
    return pages.length === wanted ? pages : undefined;
  } catch {
    // Lost or damaged: the pages are made anew from the store, which is the authority.
    return undefined;
  }
}

/** Written by `checkpointRoot` only, and verified against its name. */
export function readRoot(data: Uint8Array): RootContent {
  return JSON.parse(Buffer.from(data).toString("utf8")) as RootContent;
}

export function readPage(data: Uint8Array): readonly string[] {
  return JSON.parse(Buffer.from(data).toString("utf8")) as readonly string[];
}

function toBytes(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value), "utf8");
}
