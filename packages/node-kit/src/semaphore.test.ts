import { expect, test } from "vitest";
import { createSemaphore } from "./semaphore.ts";

/** lets everything that is ready to run do so */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

test("a newcomer can't take the permit that was handed to a waiter", async () => {
  const semaphore = createSemaphore(1);
  const entered: string[] = [];
  const first = await semaphore.acquire();
  const waiter = semaphore.acquire().then((release) => {
    entered.push("waiter");
    return release;
  });
  await settle();
  first();
  // The permit is in flight to the waiter, which hasn't run yet.
  const newcomer = semaphore.acquire().then((release) => {
    entered.push("newcomer");
    return release;
  });
  await settle();
  expect(entered).toEqual(["waiter"]);
  (await waiter)();
  (await newcomer)();
  expect(entered).toEqual(["waiter", "newcomer"]);
});

test("no more than the permits are held at once, and all waiters get in, in order", async () => {
  const semaphore = createSemaphore(2);
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const release = await semaphore.acquire();
      inside += 1;
      most = Math.max(most, inside);
      order.push(index);
      await settle();
      inside -= 1;
      release();
    }),
  );
  expect(most).toBe(2);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("releasing twice gives one permit back", async () => {
  const semaphore = createSemaphore(1);
  const release = await semaphore.acquire();
  release();
  release();
  await semaphore.acquire();
  let second = false;
  void semaphore.acquire().then(() => {
    second = true;
  });
  await settle();
  expect(second).toBe(false);
});

test("an aborted wait rejects with its reason and takes no permit", async () => {
  const semaphore = createSemaphore(1);
  const release = await semaphore.acquire();
  const controller = new AbortController();
  const waiting = semaphore.acquire(controller.signal);
  const reason = new Error("changed my mind");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  release();
  await expect(semaphore.acquire()).resolves.toBeTypeOf("function");
});

test("a signal that was aborted before asking gets no permit", async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.acquire(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  await expect(semaphore.acquire()).resolves.toBeTypeOf("function");
});

test("more waiters than the limit are refused", async () => {
  const semaphore = createSemaphore(1, { waitersMax: 1 });
  await semaphore.acquire();
  void semaphore.acquire();
  await expect(semaphore.acquire()).rejects.toMatchObject({ code: "host/overloaded" });
});
