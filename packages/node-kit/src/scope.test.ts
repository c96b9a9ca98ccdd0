import { expect, test } from "vitest";
import { createScope } from "./scope.ts";

interface Reported {
  readonly error: unknown;
  readonly task: string;
}

function collect(): {
  readonly reported: Reported[];
  readonly onError: (error: unknown, task: string) => void;
} {
  const reported: Reported[] = [];
  return { reported, onError: (error, task) => void reported.push({ error, task }) };
}

test("a task's failure is reported with its name", async () => {
  const { reported, onError } = collect();
  const scope = createScope("host", onError);
  const failure = new Error("broken");
  scope.run("sweep", async () => {
    throw failure;
  });
  await scope.close();
  expect(reported).toEqual([{ error: failure, task: "host: sweep" }]);
});

test("closing aborts first, then closes in reverse order, then waits for the tasks", async () => {
  const { onError } = collect();
  const scope = createScope("host", onError);
  const log: string[] = [];
  const closed = Promise.withResolvers<void>();
  scope.run("task", async (signal) => {
    signal.addEventListener("abort", () => log.push("abort"));
    await closed.promise;
    log.push("task ended");
  });
  scope.defer(() => {
    log.push("first");
    closed.resolve();
  });
  scope.defer(async () => {
    await Promise.resolve();
    log.push("second");
  });
  await scope.close();
  expect(log).toEqual(["abort", "second", "first", "task ended"]);
});

test("a task that ends because of the abort has not failed", async () => {
  const { reported, onError } = collect();
  const scope = createScope("host", onError);
  scope.run("wait", async (signal) => {
    await new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  });
  await scope.close();
  expect(reported).toEqual([]);
});

test("a closer that fails is reported and the others still run", async () => {
  const { reported, onError } = collect();
  const scope = createScope("host", onError);
  let closed = false;
  scope.defer(() => {
    closed = true;
  });
  scope.defer(() => {
    throw new Error("stuck valve");
  });
  await scope.close();
  expect(closed).toBe(true);
  expect(reported.map(({ task }) => task)).toEqual(["host: close"]);
});

test("a task that ignores its abort is named after the limit, and closing goes on", async () => {
  const { reported, onError } = collect();
  const scope = createScope("host", onError, { closeMaxMs: 5 });
  scope.run("deaf", () => new Promise(() => {}));
  await scope.close();
  expect(reported.map(({ task }) => task)).toEqual(["host: deaf"]);
});

test("a closed scope starts nothing and closes late deferrals at once", async () => {
  const { onError } = collect();
  const scope = createScope("host", onError);
  await scope.close();
  let ran = false;
  let closed = false;
  scope.run("late", async () => {
    ran = true;
  });
  scope.defer(() => {
    closed = true;
  });
  expect({ ran, closed }).toEqual({ ran: false, closed: true });
});

test("closing twice is one closing", () => {
  const scope = createScope("host", () => {});
  expect(scope.close()).toBe(scope.close());
});

test("the parent's abort reaches the tasks", async () => {
  const parent = new AbortController();
  const scope = createScope("child", () => {}, { parent: parent.signal });
  let told = false;
  scope.run("task", async (signal) => {
    signal.addEventListener("abort", () => {
      told = true;
    });
  });
  parent.abort();
  expect(told).toBe(true);
  await scope.close();
});
