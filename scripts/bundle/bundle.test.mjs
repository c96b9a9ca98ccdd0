/** The bundler over a small planted program: what goes in, what stays out, and that it is the same twice. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundle, MissingEntry } from "./bundle.mjs";

const failpointModule = `
export function failpoint(name) {
  if (typeof SAND_FAILPOINTS !== "undefined" && SAND_FAILPOINTS) {
    if (globalThis.armedName === name) process.kill(process.pid, "SIGKILL");
  }
}
`;
const entry = `
import { failpoint } from "./failpoint.ts";
failpoint("commit.before");
console.log(typeof import.meta.url, import.meta.url.endsWith(".cjs"), import.meta.dirname === __dirname);
`;

let roots = [];
function plant() {
  const root = mkdtempSync(join(tmpdir(), "sand-bundle-"));
  roots.push(root);
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src/failpoint.ts"), failpointModule);
  writeFileSync(join(root, "src/main.ts"), entry);
  return root;
}
beforeEach(() => {
  roots = [];
});
afterEach(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

const plan = (root, more = {}) => ({
  root,
  entry: "src/main.ts",
  outfile: "dist/main.cjs",
  failpoints: false,
  ...more,
});

test("the same source gives the same bytes in another folder, and names neither folder", async () => {
  const [first, second] = [plant(), plant()];
  await bundle(plan(first));
  await bundle(plan(second));
  const text = readFileSync(join(first, "dist/main.cjs"), "utf8");
  expect(text).toBe(readFileSync(join(second, "dist/main.cjs"), "utf8"));
  expect(text).not.toContain(tmpdir());
});

test("a shipped bundle holds no failpoint, and a test build of the same source does", async () => {
  const root = plant();
  await bundle(plan(root));
  await bundle(plan(root, { outfile: "dist/test/main.cjs", failpoints: true }));
  const shipped = readFileSync(join(root, "dist/main.cjs"), "utf8");
  expect(shipped).not.toMatch(/commit\.before|armedName|SIGKILL/);
  expect(readFileSync(join(root, "dist/test/main.cjs"), "utf8")).toMatch(/armedName[\s\S]*commit\.before/);
});

test("import.meta means the bundle's own file", async () => {
  const root = plant();
  await bundle(plan(root));
  const said = execFileSync(process.execPath, [join(root, "dist/main.cjs")], { encoding: "utf8" });
  expect(said).toBe("string true true\n");
});

test("HTTP/2 and TLS are loaded when something of them is used, and not before", async () => {
  const root = plant();
  const program = `
    import { createServer } from "node:https";
    import * as http2 from "http2";
    const loaded = () => process.moduleLoadList.filter((name) => /NativeModule (?:https|http2)$/.test(name)).length;
    console.log(loaded());
    console.log(typeof createServer, http2.constants.HTTP2_HEADER_STATUS, loaded());
  `;
  writeFileSync(join(root, "src/main.ts"), program);
  await bundle(plan(root));
  const said = execFileSync(process.execPath, [join(root, "dist/main.cjs")], { encoding: "utf8" });
  expect(said).toBe("0\nfunction :status 2\n");
});

test("a banner comes first and an executable may be run", async () => {
  const root = plant();
  await bundle(plan(root, { banner: "#!/usr/bin/env node", executable: true }));
  const file = join(root, "dist/main.cjs");
  expect(readFileSync(file, "utf8").startsWith("#!/usr/bin/env node\n")).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o755);
});

test("an entry that doesn't exist is named, and nothing is written", async () => {
  const root = plant();
  await expect(bundle(plan(root, { entry: "src/gone.ts" }))).rejects.toThrow(MissingEntry);
  expect(() => statSync(join(root, "dist"))).toThrow();
});
