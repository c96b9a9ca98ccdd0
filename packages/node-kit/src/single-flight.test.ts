import { expect, test } from "vitest";
import { createSingleFlight } from "./single-flight.ts";

test("callers at the same time share one run", async () => {
  const once = createSingleFlight<number>();
  let runs = 0;
  const work = async (): Promise<number> => {
    runs += 1;
    const run = runs;
    await Promise.resolve();
    return run;
  };
  expect(await Promise.all([once("key", work), once("key", work), once("other", work)])).toEqual([1, 1, 2]);
});

test("a failure is shared and not kept", async () => {
  const once = createSingleFlight<string>();
  const failing = once("key", async () => {
    throw new Error("broken");
  });
  const sharing = once("key", async () => "never runs");
  await expect(failing).rejects.toThrow("broken");
  await expect(sharing).rejects.toThrow("broken");
  await expect(once("key", async () => "fresh")).resolves.toBe("fresh");
});

test("a synchronous throw is a rejection", async () => {
  const once = createSingleFlight<string>();
  const failing = once("key", () => {
    throw new Error("at once");
  });
  await expect(failing).rejects.toThrow("at once");
});
