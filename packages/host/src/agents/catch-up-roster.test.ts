import { createLogger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { expect, test } from "vitest";
import { catchUpRoster } from "./catch-up-roster.ts";

function rig(failures: number, error: Error = new BoxError("store/unavailable", "the disk is full")) {
  const seen: string[] = [];
  let tries = 0;
  const deps = {
    index: {
      async catchUp() {
        tries += 1;
        if (tries <= failures) throw error;
      },
    },
    clock: {
      nowMs: () => 0,
      async sleep(ms: number) {
        seen.push(`waited ${ms}`);
      },
    },
    logger: createLogger({ name: "test", level: "error", write: (line) => void seen.push(line) }),
  };
  return { deps, seen, tries: () => tries };
}

test("a disk that fails is tried again after a wait, and each failure is said", async () => {
  const { deps, seen, tries } = rig(2);
  expect(await catchUpRoster(deps, new AbortController().signal)).toBe(true);
  expect(tries()).toBe(3);
  expect(seen.filter((line) => line === "waited 1000")).toHaveLength(2);
  expect(seen.join("")).toContain("roster.waits");
});

test("a host that closes meanwhile doesn't go on", async () => {
  const closing = new AbortController();
  const { deps, seen } = rig(1);
  const index = { catchUp: () => Promise.resolve(closing.abort()).then(() => deps.index.catchUp()) };
  expect(await catchUpRoster({ ...deps, index }, closing.signal)).toBe(false);
  expect(seen).toEqual([]);
});

test("a bug isn't tried again", async () => {
  const { deps } = rig(1, new Error("a bug"));
  await expect(catchUpRoster(deps, new AbortController().signal)).rejects.toThrow("a bug");
});
