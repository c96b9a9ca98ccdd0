import { expect, test } from "vitest";
import { decideSandbox } from "./decide-sandbox.ts";

const whole = { works: true } as const;
const absent = { works: false, missing: "no filter here" } as const;
const works = { works: true, program: "/usr/bin/bwrap", filter: whole, network: whole } as const;
const halfWorks = { ...works, filter: absent } as const;
const fails = { works: false, missing: "user namespaces are not allowed here" } as const;
const enclose = { kind: "enclose", program: "/usr/bin/bwrap" } as const;

test.each([
  ["required", works, enclose],
  ["required", { ...works, network: absent }, enclose],
  ["required", halfWorks, { kind: "refuse", missing: absent.missing }],
  ["required", fails, { kind: "refuse", missing: fails.missing }],
  ["auto", works, enclose],
  ["auto", halfWorks, enclose],
  ["auto", fails, { kind: "bare", reason: fails.missing }],
  ["off", works, { kind: "bare", reason: "SAND_SANDBOX is off" }],
] as const)("%s with %o gives %o", (mode, probe, decision) => {
  expect(decideSandbox(mode, probe)).toEqual(decision);
});
