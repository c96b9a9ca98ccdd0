/**
 * Row 47: the probe where a piece is really missing. Each is taken away in a user namespace of the test's own, whose
 * limits are its own as well, so that nothing of the machine changes.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileFilter } from "../src/index.ts";

const patientMs = 90_000;
const canNest = spawnSync("unshare", ["-Urm", "bwrap", "--ro-bind", "/", "/", "true"]).status === 0;
const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("bwrap");

describe.skipIf(!canNest && !isRequired)("row 47: a sandbox with a piece missing", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sand-pieces-"));
    writeFileSync(join(folder, "filter"), compileFilter(process.arch === "arm64" ? "arm64" : "x64"));
    const door = JSON.stringify(join(import.meta.dirname, "../src/index.ts"));
    const options = { searchPath: "/usr/bin:/bin", scratchRoot: folder, filterFile: join(folder, "filter") };
    const program = [
      `import { probeSandbox } from ${door};`,
      `console.log(JSON.stringify(await probeSandbox(${JSON.stringify(options)})));`,
    ];
    writeFileSync(join(folder, "probe.mjs"), program.join("\n"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function probeAfter(takeAway: string): Promise<unknown> {
    const script = `${takeAway} && exec "$0" "$1"`;
    const args = ["-Urm", "sh", "-c", script, process.execPath, join(folder, "probe.mjs")];
    const { stdout } = await promisify(execFile)("unshare", args, { timeout: patientMs });
    return JSON.parse(stdout);
  }

  const limit = (kind: string): string => `echo 0 > /proc/sys/user/max_${kind}_namespaces`;

  test("nothing taken away, all of it works, so it is the piece that makes the difference", {
    timeout: patientMs,
  }, async () => {
    expect(await probeAfter("true")).toMatchObject({
      works: true,
      filter: { works: true },
      network: { works: true },
    });
  });

  test.each([
    ["user namespaces", limit("user"), /^user namespaces are not allowed here/u],
    ["mount namespaces", limit("mnt"), /^user namespaces are not allowed here .*namespace/u],
    [
      "a /proc that may be mounted again",
      "mount -t tmpfs none /proc/irq",
      /^a fresh \/proc can't be mounted here/u,
    ],
  ])(
    "%s: there is no sandbox, and the piece is named",
    { timeout: patientMs },
    async (_what, take, words) => {
      expect(await probeAfter(take)).toEqual({ works: false, missing: expect.stringMatching(words) });
    },
  );

  test("network namespaces: the rest works, and the piece is named", { timeout: patientMs }, async () => {
    expect(await probeAfter(limit("net"))).toMatchObject({
      ...{ works: true, filter: { works: true } },
      network: { works: false, missing: expect.stringMatching(/^a network namespace can't be set up here/u) },
    });
  });
});
