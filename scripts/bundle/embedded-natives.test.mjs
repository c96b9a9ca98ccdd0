/** A bundle that opens a real database, alone in an empty folder and beside an installed package. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "./bundle.mjs";
import { repositoryRoot } from "./outputs.mjs";

const program = `
import { existsSync } from "node:fs";
import { acquireHostLock } from "../../packages/store/src/index.ts";
const root = process.argv[2] ?? "";
acquireHostLock({ root, pid: process.pid }).release();
console.log(existsSync(root + "/natives") ? "carried" : "installed");
`;

let folder = "";
let planted = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sand-alone-"));
  mkdirSync(join(repositoryRoot, ".tmp"), { recursive: true });
  planted = mkdtempSync(join(repositoryRoot, ".tmp", "natives-"));
  writeFileSync(join(planted, "main.ts"), program);
  const entry = join(".tmp", planted.slice(planted.lastIndexOf("/") + 1), "main.ts");
  await bundle({ root: repositoryRoot, entry, outfile: join(folder, "main.cjs"), failpoints: false });
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(planted, { recursive: true, force: true });
});

function run(dataRoot, env) {
  const { NODE_PATH: _, ...rest } = process.env;
  return execFileSync(process.execPath, [join(folder, "main.cjs"), join(folder, dataRoot)], {
    cwd: folder,
    env: { ...rest, ...env },
    encoding: "utf8",
  }).trim();
}

test("a bundle alone in a folder opens a database with the addon that it carries", () => {
  expect(run("alone", {})).toBe("carried");
  expect(run("alone", {})).toBe("carried");
  expect(readdirSync(join(folder, "alone", "natives"))).toHaveLength(1);
});

test("a package that NODE_PATH gives comes before the carried addon", () => {
  const installed = join(repositoryRoot, "packages", "store", "node_modules");
  expect(run("installed", { NODE_PATH: installed })).toBe("installed");
});
