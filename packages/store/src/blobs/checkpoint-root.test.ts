import { expect, test } from "vitest";
import { blobIdOf, verifiedBlob } from "./blob-id.ts";
import { checkpointRoot, readPage, readRoot, rootPageSize } from "./checkpoint-root.ts";

function memoryBlobs() {
  const stored = new Map<string, Uint8Array>();
  const puts: string[] = [];
  return {
    stored,
    puts,
    get: (id: string) => verifiedBlob(id, stored.get(id)),
    put(blobs: readonly Uint8Array[]) {
      const ids = blobs.map((data) => {
        stored.set(blobIdOf(data), data);
        return blobIdOf(data);
      });
      puts.push(...ids);
      return ids;
    },
  };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `payload-${at}`);

function reach(blobs: ReturnType<typeof memoryBlobs>, root: string): string[] {
  return readRoot(blobs.get(root)).pages.flatMap((page) => readPage(blobs.get(page)));
}

test.each([1, rootPageSize - 1, rootPageSize, rootPageSize + 1, 3 * rootPageSize])(
  "from a root over %i payloads each can be reached, in order",
  (count) => {
    const blobs = memoryBlobs();
    const answer = checkpointRoot(blobs, { previous: null, skipped: 0, payloads: names(count) });
    expect(answer.kind).toBe("stored");
    if (answer.kind !== "stored") return;
    expect(reach(blobs, answer.root.root)).toEqual(names(count));
    expect(answer.root.fullPages).toHaveLength(Math.floor(count / rootPageSize));
    expect(answer.root.lastPage === null).toBe(count % rootPageSize === 0);
  },
);

test("a new root takes the full pages over and writes the last one and itself", () => {
  const blobs = memoryBlobs();
  const all = names(2 * rootPageSize + 20);
  const first = checkpointRoot(blobs, { previous: null, skipped: 0, payloads: all.slice(0, -10) });
  if (first.kind !== "stored") throw new Error("not stored");
  blobs.puts.length = 0;
  const skipped = 2 * rootPageSize;
  const second = checkpointRoot(blobs, {
    previous: first.root.root,
    skipped,
    payloads: all.slice(skipped),
  });
  if (second.kind !== "stored") throw new Error("not stored");
  expect(blobs.puts).toHaveLength(2);
  expect(reach(blobs, second.root.root)).toEqual(all);
});

test("a root that is lost or damaged isn't built on", () => {
  const blobs = memoryBlobs();
  const all = names(rootPageSize + 1);
  const first = checkpointRoot(blobs, { previous: null, skipped: 0, payloads: all });
  if (first.kind !== "stored") throw new Error("not stored");
  blobs.stored.set(first.root.root, new Uint8Array([1, 2, 3]));
  const ask = { previous: first.root.root, skipped: rootPageSize, payloads: ["more"] };
  expect(checkpointRoot(blobs, ask)).toEqual({ kind: "unreadable" });
  expect(checkpointRoot(blobs, { ...ask, previous: null })).toEqual({ kind: "unreadable" });
});
