/** What the build writes: free of failpoints and of this machine, and whole. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readProgram } from "../scripts/bundle/load-program.mjs";

const root = join(import.meta.dirname, "..");
const shipped = ["dist/host-main.cjs", "dist/box-exec-daemon/main.cjs", "dist/sand.cjs"];

/** the file as it is, and the program that it carries compressed */
async function readBundle(path: string): Promise<string> {
  const text = await readFile(join(root, path), "utf8");
  return text + readProgram(text);
}

/** every name that the sources give to a failpoint */
async function failpointNames(): Promise<string[]> {
  const names = new Set<string>();
  for (const entry of await readdir(join(root, "packages"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\/src\//.test(`${entry.parentPath}/`) || !/(?<!\.test)\.ts$/.test(entry.name))
      continue;
    if (entry.parentPath.includes("node_modules") || entry.parentPath.includes("/testkit/")) continue;
    const text = await readFile(join(entry.parentPath, entry.name), "utf8");
    for (const match of text.matchAll(/\bfailpoint\(\s*["'`]([a-z0-9.-]+)["'`]/g)) {
      if (match[1] !== undefined) names.add(match[1]);
    }
  }
  return [...names];
}

test("a shipped bundle holds no failpoint, and the test builds hold them", async () => {
  const names = await failpointNames();
  expect(names.length).toBeGreaterThan(0);
  for (const path of shipped) {
    const text = await readBundle(path);
    expect(names.filter((name) => text.includes(`failpoint("${name}")`))).toEqual([]);
    expect(text).not.toMatch(/\bdieHere\b|\bSAND_FAILPOINTS\b/);
  }
  expect(await readBundle("dist/test/host-main.cjs")).toContain("dieHere");
});

test("a bundle names no path of the machine that built it", async () => {
  for (const path of shipped) {
    expect(await readBundle(path)).not.toContain(root);
  }
});

test("the daemon's bundle starts with its banner", async () => {
  const text = await readFile(join(root, "dist/box-exec-daemon/main.cjs"), "utf8");
  expect(text.split("\n", 1)[0]).toBe(
    "// Reconstructed loopback box exec-daemon; Connect/protobuf transport, no desktop local-exec dependency.",
  );
});

test("beside each bundle stand the licences of what is in it", async () => {
  for (const path of shipped) {
    const text = await readFile(join(root, `${path}.licences.txt`), "utf8");
    expect(text).toMatch(/\(MIT\)|\(Apache-2\.0/);
  }
});
