/**
 * A disk that is full in the middle of a projection: it is told, nothing half stays, and it goes on when there is space.
 * Needs root for a mount namespace of its own; `SAND_TEST_REQUIRE=mounts` makes that a failure instead of a skip.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("./project-on-full-disk.ts", import.meta.url));
const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("mounts");
const canMount =
  spawnSync("unshare", ["--mount", "sh", "-c", "mount -t tmpfs sand-test /mnt"], { stdio: "ignore" })
    .status === 0;

function run(smallKb: number): Record<"full" | "withSpace" | "anew", Record<string, unknown>> {
  const root = mkdtempSync(join(tmpdir(), "sand-full-"));
  try {
    const made = spawnSync(
      "unshare",
      ["--mount", "--propagation", "private", process.execPath, script, root, String(smallKb)],
      { encoding: "utf8", timeout: 120_000 },
    );
    expect(made.stderr).toBe("");
    return JSON.parse(made.stdout);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** from one that takes no index to one that takes all but the end */
const sizesKb = [40, 120, 300, 1_200] as const;

test.skipIf(!canMount && !isRequired)("a process of its own may mount, or the rest is skipped", () => {
  expect(canMount).toBe(true);
});

test.skipIf(!canMount && !isRequired).each(sizesKb)(
  "with %i KB of space it is told, and with more the projections are what they would have been",
  (smallKb) => {
    const { full, withSpace, anew } = run(smallKb);
    expect(full.failures).toContainEqual(
      expect.stringMatching(/^(?:agent|index)-failed store\/unavailable$/u),
    );
    expect(full.endsWhole).toBe(true);
    expect(withSpace.failures).toEqual([]);
    expect(withSpace).toEqual(anew);
    expect(anew).toMatchObject({ hits: 20, endsWhole: true });
    expect(anew.journalBytes).toBeGreaterThan(1_000_000);
  },
  150_000,
);
