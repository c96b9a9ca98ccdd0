import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { withinTreeTime } from "./tree-time.ts";

const never = new AbortController().signal;
const untilAborted = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve("half a tree"), { once: true }));

test("what is done in time is answered", async () => {
  expect(await withinTreeTime(never, async () => "whole")).toBe("whole");
});

test("what isn't done in time is too large, also where the work ends as if it were whole", async () => {
  await expect(withinTreeTime(never, untilAborted, 1)).rejects.toMatchObject({ code: "file/too-large" });
});

test("a caller that went away is no failure of ours", async () => {
  const caller = new AbortController();
  const work = withinTreeTime(caller.signal, untilAborted);
  caller.abort();
  const failure = ConnectError.from(await work.catch((error: unknown) => error));
  expect(failure.code).toBe(Code.Canceled);
});

test("another failure is told as it is", async () => {
  const failing = withinTreeTime(never, () => Promise.reject(new Error("the disk")));
  await expect(failing).rejects.toThrow("the disk");
});
