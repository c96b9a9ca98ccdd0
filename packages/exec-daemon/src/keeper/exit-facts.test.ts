import { expect, test } from "vitest";
import { computeExitFacts, type ExitReport } from "./exit-facts.ts";

const report: ExitReport = {
  code: 0,
  signal: null,
  sandboxed: false,
  timedOut: false,
  oomKilled: false,
  endedAtMs: 1,
};

test.each<[string, Partial<ExitReport>, object]>([
  ["a code", { code: 3 }, { code: 3, signal: null, reason: "exited" }],
  ["a signal", { code: null, signal: "SIGTERM" }, { code: null, signal: "SIGTERM", reason: "signaled" }],
  ["a code that looks like a signal, outside", { code: 137 }, { code: 137, signal: null, reason: "exited" }],
  [
    "the same from within a sandbox",
    { code: 137, sandboxed: true },
    { code: null, signal: "SIGKILL", reason: "signaled" },
  ],
  [
    "an ordinary code from a sandbox",
    { code: 1, sandboxed: true },
    { code: 1, signal: null, reason: "exited" },
  ],
  [
    "a life limit",
    { code: null, signal: "SIGKILL", timedOut: true, oomKilled: true },
    { reason: "timed-out", oomKilled: false },
  ],
  [
    "lack of memory",
    { code: null, signal: "SIGKILL", oomKilled: true },
    { oomKilled: true, reason: "signaled" },
  ],
  ["an end by itself while memory was short elsewhere", { code: 0, oomKilled: true }, { oomKilled: false }],
])("%s is told as it was", (_name, change, facts) => {
  expect(computeExitFacts({ ...report, ...change })).toMatchObject(facts);
});
