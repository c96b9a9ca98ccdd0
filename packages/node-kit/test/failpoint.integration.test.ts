import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const entry = `
import { armFailpoints, failpoint } from ${JSON.stringify(fileURLToPath(new URL("../src/failpoint.ts", import.meta.url)))};
armFailpoints("commit.before:2");
failpoint("commit.after");
failpoint("commit.before");
console.log("one");
failpoint("commit.before");
console.log("two");
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-failpoint-"));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function bundle(
  name: string,
  failpoints: boolean,
): Promise<{ readonly path: string; readonly text: string }> {
  const path = join(folder, `${name}.cjs`);
  const result = await build({
    stdin: { contents: entry, resolveDir: folder, loader: "ts" },
    bundle: true,
    platform: "node",
    format: "cjs",
    outfile: path,
    minifySyntax: true,
    define: { SAND_FAILPOINTS: String(failpoints) },
  });
  expect(result.errors).toEqual([]);
  return { path, text: readFileSync(path, "utf8") };
}

async function run(path: string): Promise<{ readonly signal: string | null; readonly output: string }> {
  const child = spawn(process.execPath, [path], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  return { signal, output };
}

test("a test build dies by SIGKILL at the named hit and not before", async () => {
  const { path } = await bundle("armed", true);
  expect(await run(path)).toEqual({ signal: "SIGKILL", output: "one\n" });
});

test("a shipped build holds no failpoint and can't be armed", async () => {
  const { path, text } = await bundle("shipped", false);
  expect(text).not.toContain("SIGKILL");
  expect(await run(path)).toEqual({ signal: null, output: "one\ntwo\n" });
});
