import { expect, test } from "vitest";
import { createKeyedMutex } from "./keyed-mutex.ts";

test("work on one key runs one after another, in the order of asking", async () => {
  const exclusive = createKeyedMutex();
  const log: string[] = [];
  await Promise.all(
    ["a", "b", "c"].map((name) =>
      exclusive("key", async () => {
        log.push(`${name} in`);
        await Promise.resolve();
        log.push(`${name} out`);
      }),
    ),
  );
  expect(log).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("different keys don't wait for each other", async () => {
  const exclusive = createKeyedMutex();
  const blocked = Promise.withResolvers<void>();
  const first = exclusive("one", () => blocked.promise);
  await expect(exclusive("two", async () => "done")).resolves.toBe("done");
  blocked.resolve();
  await first;
});

test("a failure reaches its caller and lets the next one in", async () => {
  const exclusive = createKeyedMutex();
  const failing = exclusive("key", async () => {
    throw new Error("mine");
  });
  const next = exclusive("key", async () => "next");
  await expect(failing).rejects.toThrow("mine");
  await expect(next).resolves.toBe("next");
});
