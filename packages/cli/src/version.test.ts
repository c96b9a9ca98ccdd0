import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { version } from "./version.ts";

test("the program says the version of its package", () => {
  expect(version).toBe(manifest.version);
});
