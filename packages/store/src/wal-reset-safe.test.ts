import { expect, test } from "vitest";
import { isWalResetSafe } from "./wal-reset-safe.ts";

test.each([
  ["3.54.1", true],
  ["3.51.3", true],
  ["4.0.0", true],
  ["3.51.2", false],
  ["3.50.7", true],
  ["3.50.6", false],
  ["3.50.12", true],
  ["3.45.1", false],
  ["3.44.6", true],
  ["3.44.5", false],
  ["3.40.1", false],
  ["3.52.0", false],
  ["not a version", false],
])("SQLite %s is safe to use: %s", (version, safe) => {
  expect(isWalResetSafe(version)).toBe(safe);
});
