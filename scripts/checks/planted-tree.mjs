/**
 * A small repository in a temp folder that is checked by the real configurations of this one, so
 * that a test can plant one breach of each rule and see it found.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repositoryRoot } from "../bundle/outputs.mjs";

const configurations = [
  ".dependency-cruiser.cjs",
  "biome.json",
  "eslint.config.mjs",
  "knip.json",
  "scripts/checks/own-lines-rule.mjs",
  "tsconfig.base.json",
];
const runMaxMs = 60_000;

/** @param {Record<string, string>} files path → text */
export function plantTree(files) {
  const root = mkdtempSync(join(tmpdir(), "sand-planted-"));
  mkdirSync(join(root, "scripts", "checks"), { recursive: true });
  for (const name of configurations) copyFileSync(join(repositoryRoot, name), join(root, name));
  symlinkSync(join(repositoryRoot, "node_modules"), join(root, "node_modules"));
  const write = (path, text) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write(".gitignore", "node_modules\n");
  for (const [path, text] of Object.entries(files)) write(path, text);
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** A package with a manifest and a type configuration, and the files given. */
export function plantPackage(name, files, manifest = {}) {
  const base = `packages/${name}`;
  const filled = {
    name: `@sand/${name}`,
    private: true,
    version: "0.1.0",
    license: "MIT",
    type: "module",
    exports: { ".": "./src/index.ts" },
    scripts: { typecheck: "tsc --project tsconfig.json" },
    ...manifest,
  };
  const planted = {
    [`${base}/package.json`]: `${JSON.stringify(filled, null, 2)}\n`,
    [`${base}/tsconfig.json`]: '{ "extends": "../../tsconfig.base.json", "include": ["src"] }\n',
  };
  for (const [path, text] of Object.entries(files)) planted[`${base}/${path}`] = text;
  return planted;
}

/** @returns {Promise<{code: number | null, output: string}>} */
export function runTool(root, program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(repositoryRoot, program), ...args], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: runMaxMs,
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
