/** The native shim as it is built: what is in the shipped one, and that it is the same bytes wherever it is built. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { repositoryRoot } from "../bundle/outputs.mjs";
import { compileShim } from "./compile-shim.mjs";

const compiled = compileShim();
const hasCompiler = compiled.built;
const folders = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

test.skipIf(!hasCompiler)("the shipped shim has no failpoint, and the one of test builds has them", () => {
  const names = ["SAND_FAILPOINT", "keeper.claimed", "keeper.spawned", "keeper.exited"];
  const [shipped, tested] = [compiled.shim, compiled.failpoints].map((path) => readFileSync(path));
  expect(names.filter((name) => shipped.includes(name))).toEqual([]);
  expect(names.filter((name) => tested.includes(name))).toEqual(names);
});

test.skipIf(!hasCompiler)("the same sources give the same shim in another folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "sand-shim-"));
  folders.push(folder);
  cpSync(join(repositoryRoot, "packages/exec-daemon/native"), join(folder, "packages/exec-daemon/native"), {
    recursive: true,
    filter: (path) => !path.endsWith("/dist"),
  });
  const again = compileShim({ root: folder });
  expect(readFileSync(again.shim).equals(readFileSync(compiled.shim))).toBe(true);
});

test("no source of the shim is longer than a file may be", () => {
  const folder = join(repositoryRoot, "packages/exec-daemon/native");
  const lengths = readdirSync(folder)
    .filter((name) => /\.[ch]$/.test(name))
    .map((name) => [name, readFileSync(join(folder, name), "utf8").split("\n").length - 1]);
  expect(lengths.filter(([, lines]) => lines > 300)).toEqual([]);
});

test.skipIf(!hasCompiler)("the shim says what it can do here", () => {
  const said = JSON.parse(execFileSync(compiled.shim, ["probe"], { encoding: "utf8" }));
  expect(said).toEqual({ version: 1, seccomp: true, cgroup: false });
});
