/** Reads which Node and pnpm this repository is pinned to, from the one place that says it: package.json. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Failure } from "./failure.mjs";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const toolchain = join(root, ".toolchain");

/** @returns {{node: string, pnpm: string}} */
export function readPins() {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const node = manifest.devDependencies?.node;
  const pnpm = /^pnpm@(\d+\.\d+\.\d+)/.exec(manifest.packageManager || "");
  if (!node || !pnpm) {
    throw new Failure(
      "package.json doesn't pin node (devDependencies) and pnpm (packageManager)",
      "restore both lines from the repository's history",
    );
  }
  return { node, pnpm: pnpm[1] };
}
