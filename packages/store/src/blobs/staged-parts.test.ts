import { BoxError } from "@sand/protocol";
import { expect, test } from "vitest";
import type { PayloadPart } from "./split-payload.ts";
import { createStagedParts, MissingParts } from "./staged-parts.ts";

const part = (text: string): PayloadPart => ({ at: ["text"], form: "text", text });

function rig(put?: (blobs: readonly Uint8Array[]) => Promise<readonly string[]>) {
  const stored: string[] = [];
  const staged = createStagedParts({
    put:
      put ??
      (async (blobs) => {
        const texts = blobs.map((blob) => new TextDecoder().decode(blob));
        stored.push(...texts);
        return texts.map((text) => `id of ${text}`);
      }),
  });
  /** as the store does it: run, and again with what was missing */
  async function transact<T>(change: () => T): Promise<T> {
    try {
      return change();
    } catch (error) {
      if (!(error instanceof MissingParts)) throw error;
      return await staged.retry(error, async (within) => within(change));
    }
  }
  return { staged, stored, transact };
}

test("a change runs again when its parts are stored, and finds each by its text", async () => {
  const { staged, stored, transact } = rig();
  const placed = await transact(() => [
    ...staged.place([part("one")]),
    ...staged.place([part("two"), part("one")]),
  ]);
  expect(placed.map(({ id }) => id)).toEqual(["id of one", "id of two", "id of one"]);
  expect(stored).toEqual(["one", "two"]);
});

test("a blob is pinned from its storing until its change's outcome is known, also when that is a failure", async () => {
  const { staged, transact } = rig();
  const seen: boolean[] = [];
  const change = transact(() => {
    staged.place([part("one")]);
    seen.push(staged.isPinned("id of one"));
    throw new Error("no");
  });
  await expect(change).rejects.toThrow("no");
  expect(seen).toEqual([true]);
  expect(staged.isPinned("id of one")).toBe(false);
});

test("two changes with the same payload pin it both", async () => {
  const { staged } = rig();
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = staged.retry(new MissingParts([part("one")]), () => promise);
  await staged.retry(new MissingParts([part("one")]), async () => undefined);
  expect(staged.isPinned("id of one")).toBe(true);
  resolve();
  await slow;
  expect(staged.isPinned("id of one")).toBe(false);
});

test("a change whose parts can't be stored fails with the reason, and nothing stays pinned", async () => {
  const { staged, transact } = rig(async () => {
    throw new BoxError("store/unavailable", "the disk is full");
  });
  await expect(transact(() => staged.place([part("one")]))).rejects.toMatchObject({
    code: "store/unavailable",
  });
});

test("what was placed in one change isn't taken for placed in the next", async () => {
  const { staged, stored, transact } = rig();
  await transact(() => staged.place([part("one")]));
  await transact(() => staged.place([part("one")]));
  expect(stored).toEqual(["one", "one"]);
});
