import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { findBundles, proveSecrets } from "../packages/testkit/src/proofs/door.ts";

/** Continuous integration requires it; elsewhere a machine without bubblewrap can't show this. */
const hasBubblewrap = (process.env.SAND_TEST_REQUIRE ?? "").includes("bwrap") || runs("bwrap", "--version");

function runs(program: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasBubblewrap)(
  "a command in the sandbox finds no token, and without a sandbox the same scan does",
  { timeout: 240_000 },
  async () => {
    const { findings } = await proveSecrets({ bundles: findBundles("shipped") });
    expect(findings).toEqual([]);
  },
);
