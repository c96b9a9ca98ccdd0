import { expect, test } from "vitest";
import { createRequestLog, type RecordedRequest, withoutSecrets } from "./request-log.ts";

const request = (
  bodyDigest: string,
  violations: readonly string[] = [],
): Omit<RecordedRequest, "number" | "attempt"> => ({
  atMs: 0,
  path: "/v1/chat/completions",
  headers: {},
  body: {},
  bodyDigest,
  lastUserText: "",
  step: 0,
  toolResultCount: 0,
  violations,
});

test("credentials are left out of the recorded headers", () => {
  const headers = { authorization: "Bearer x", "x-api-key": "x", cookie: "x", "api-key": "x", accept: "*/*" };
  expect(withoutSecrets(headers)).toEqual({ accept: "*/*" });
});

test("attempts are counted for each body, and numbers for all", () => {
  const log = createRequestLog();
  const added = ["a", "b", "a"].map((digest) => log.add(request(digest), 1));
  expect(added.map(({ number, attempt }) => [number, attempt])).toEqual([
    [1, 1],
    [2, 1],
    [3, 2],
  ]);
});

test("old requests are dropped by number and by bytes, and the count goes on", () => {
  const log = createRequestLog();
  for (let at = 0; at < 2_100; at += 1) log.add(request(String(at)), 1);
  expect([log.requests.length, log.count, log.requests[0]?.number]).toEqual([2_000, 2_100, 101]);
  log.add(request("big"), 64 * 1024 * 1024);
  expect(log.requests.map(({ number }) => number)).toEqual([2_101]);
});

test("a wait ends with the request that it waits for, and fails at its deadline", async () => {
  const log = createRequestLog();
  const waiting = log.waitFor(2, 5_000);
  log.add(request("a"), 1);
  log.add(request("b"), 1);
  await waiting;
  await expect(log.waitFor(3, 1)).rejects.toThrow("2 of 3 model requests");
});

test("violations name their request", () => {
  const log = createRequestLog();
  log.add(request("a"), 1);
  log.add(request("b", ["an empty assistant message"]), 1);
  expect(log.violations).toEqual(["request 2: an empty assistant message"]);
});
