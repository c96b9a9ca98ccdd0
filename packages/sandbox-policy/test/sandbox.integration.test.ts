import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compileFilter, planSandbox, probeSandbox, resolveMasked } from "../src/index.ts";

const run = promisify(execFile);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-sandbox-"));
  for (const name of ["workspace", "tmp", "workspace/data"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "workspace/data/token"), "planted-secret");
  writeFileSync(join(folder, "workspace/key"), "planted-secret");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function enclosed(script: string): Promise<string> {
  const args = planSandbox(
    {
      workspaceRoot: join(folder, "workspace"),
      temporaryRoot: join(folder, "tmp"),
      writableRoots: [],
      readOnlyRoots: [],
      masked: resolveMasked([
        join(folder, "workspace/data"),
        join(folder, "workspace/key"),
        join(folder, "nowhere"),
      ]),
    },
    { cwd: join(folder, "workspace"), argv: ["/bin/sh", "-c", script], infoFd: null },
  );
  return (await run("bwrap", [...args], { env: { PATH: "/usr/bin:/bin" } })).stdout;
}

test("the probe finds a sandbox that works, and names what is missing where there is none", async () => {
  const filterFile = join(folder, "filter");
  writeFileSync(filterFile, compileFilter(process.arch === "arm64" ? "arm64" : "x64"));
  const probe = { searchPath: "/usr/bin:/bin", scratchRoot: folder, filterFile };
  expect(await probeSandbox(probe)).toEqual({
    works: true,
    program: "/usr/bin/bwrap",
    filter: { works: true },
    network: { works: true },
  });
  // An empty file is no filter.
  writeFileSync(filterFile, "");
  expect(await probeSandbox(probe)).toMatchObject({ works: true, filter: { works: false } });
  expect(await probeSandbox({ ...probe, searchPath: join(folder, "tmp") })).toEqual({
    works: false,
    missing: "the program bwrap (bubblewrap) is not installed",
  });
});

test("a masked folder is empty, a masked file too, and nothing else of the machine can be written", async () => {
  const seen = await enclosed(
    "ls -A data; cat key; (: > /etc/planted) 2>/dev/null || echo read-only; : > made",
  );
  expect(seen).toBe("read-only\n");
  expect(readFileSync(join(folder, "workspace/made"), "utf8")).toBe("");
});

test("a command sees no process but those of its own run", async () => {
  const pids = (await enclosed("ls /proc | grep -c '^[0-9]'")).trim();
  expect(Number(pids)).toBeLessThan(8);
});

test("what a run leaves in /tmp is there for the next one, and not in the machine's own", async () => {
  await enclosed("echo kept > /tmp/sand-note");
  expect(await enclosed("cat /tmp/sand-note")).toBe("kept\n");
  expect(readFileSync(join(folder, "tmp/sand-note"), "utf8")).toBe("kept\n");
});
