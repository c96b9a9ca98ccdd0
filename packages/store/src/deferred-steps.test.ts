import { expect, test } from "vitest";
import { createDeferredSteps } from "./deferred-steps.ts";

function* steps(seen: string[], failAt?: number): Generator<undefined, void> {
  for (let step = 1; step <= 3; step += 1) {
    if (step === failAt) throw new Error("the disk is full");
    seen.push(`step ${step}`);
    yield;
  }
}

/** Each step asks for other work, which comes before the next step or only after all of them. */
function* busySteps(seen: string[]): Generator<undefined, void> {
  for (const step of ["step 1", "step 2"]) {
    seen.push(step);
    setImmediate(() => seen.push("other work"));
    yield;
  }
}

test("nothing runs at first, and other work runs between the steps", async () => {
  const seen: string[] = [];
  const deferred = createDeferredSteps(() => busySteps(seen));
  const running = deferred.run();
  expect(seen).toEqual([]);
  await running;
  expect(seen.slice(0, 3)).toEqual(["step 1", "other work", "step 2"]);
  expect(deferred.isDone).toBe(true);
});

test("who needs the result in the middle gets all of it, and no step runs twice", async () => {
  const seen: string[] = [];
  const deferred = createDeferredSteps(() => steps(seen));
  const running = deferred.run();
  deferred.settle();
  expect(seen).toEqual(["step 1", "step 2", "step 3"]);
  await running;
  deferred.settle();
  expect(seen).toHaveLength(3);
});

test("work that failed starts over when it is asked for again", () => {
  const seen: string[] = [];
  let tries = 0;
  const deferred = createDeferredSteps(() => {
    tries += 1;
    return steps(seen, tries === 1 ? 2 : undefined);
  });
  expect(() => deferred.settle()).toThrow("the disk is full");
  expect(deferred.isDone).toBe(false);
  deferred.settle();
  expect(seen).toEqual(["step 1", "step 1", "step 2", "step 3"]);
});
