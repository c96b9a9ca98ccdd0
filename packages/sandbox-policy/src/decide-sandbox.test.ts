import { expect, test } from "vitest";
import { decideSandbox } from "./decide-sandbox.ts";

const works = { works: true, program: "/usr/bin/bwrap" } as const;
const fails = { works: false, missing: "user namespaces are not allowed here" } as const;

test.each([
  ["required", works, { kind: "enclose", program: "/usr/bin/bwrap" }],
  ["required", fails, { kind: "refuse", missing: fails.missing }],
  ["auto", works, { kind: "enclose", program: "/usr/bin/bwrap" }],
  ["auto", fails, { kind: "bare", reason: fails.missing }],
  ["off", works, { kind: "bare", reason: "SAND_SANDBOX is off" }],
] as const)("%s with %o gives %o", (mode, probe, decision) => {
  expect(decideSandbox(mode, probe)).toEqual(decision);
});
