import { expect, test } from "vitest";
import { describeEnd } from "./describe-end.ts";

const known = { code: null, signal: null, unknown: "" };

test("an end with 0 is no error", () => {
  expect(describeEnd({ ...known, code: 0 })).toEqual({ exitCode: 0, exited: true, status: "exit status 0" });
});

test("another code is told and is an error", () => {
  const status = "exit status 127";
  expect(describeEnd({ ...known, code: 127 })).toEqual({
    exitCode: 127,
    exited: true,
    status,
    error: status,
  });
});

test.each([
  ["SIGKILL", "signal: killed"],
  ["SIGTERM", "signal: terminated"],
  ["SIGSEGV", "signal: segmentation fault"],
  ["SIGRTMIN", "signal: SIGRTMIN"],
])("%s is no code, but words", (signal, status) => {
  expect(describeEnd({ ...known, signal })).toEqual({ exitCode: -1, exited: false, status, error: status });
});

test("an end that nobody saw is said to be unknown", () => {
  expect(describeEnd({ ...known, unknown: "it is gone" })).toMatchObject({
    exitCode: -1,
    exited: false,
    status: "unknown: it is gone",
  });
});
