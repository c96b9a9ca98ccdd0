/** When the box's supervisor starts a program again, and that what it publishes stays on this machine. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { countFailures, restartDelayMs, restartLimits } from "../docker/restart-policy.mjs";

test("a program that keeps ending is started less and less often, and never given up", () => {
  const delays = [1, 2, 3, 4, 8, 20, 5000].map((failures) => restartDelayMs(failures));
  expect(delays).toEqual([250, 500, 1000, 2000, 30_000, 30_000, 30_000]);
});

test("a program that ran for a while has its earlier failures forgotten", () => {
  expect(countFailures(7, restartLimits.steadyMs)).toBe(1);
  expect(countFailures(7, restartLimits.steadyMs - 1)).toBe(8);
});

test("the compose file publishes on the loopback only, under the name that people know", () => {
  const text = readFileSync(join(import.meta.dirname, "../docker/compose.yaml"), "utf8");
  expect(text).toContain("container_name: sand-dev-box");
  const ports = [...text.matchAll(/^ {6}- "(.*):1340"$/gmu)].map((match) => match[1] ?? "");
  expect(ports).toHaveLength(1);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/u);
});
