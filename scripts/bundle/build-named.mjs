/** Builds outputs by name and says what came out; an entry that doesn't exist yet is said, and fails the build. */
import { copyFile, mkdir, rename } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { bundle, MissingEntry } from "./bundle.mjs";
import { outputs, repositoryRoot } from "./outputs.mjs";

/** @param {readonly (keyof typeof outputs)[]} names */
export async function buildNamed(names) {
  for (const name of names) {
    try {
      const built = await bundle({ root: repositoryRoot, ...outputs[name] });
      console.log(`built ${built.outfile} (${Math.ceil(built.bytes / 1024)} KiB)`);
    } catch (error) {
      // The bundler has printed its own errors with their places already.
      if (error instanceof MissingEntry) console.error(`build: ${error.message}`);
      else if (Array.isArray(error.errors)) console.error(`build: ${outputs[name].outfile} was not built`);
      else throw error;
      process.exitCode = 1;
    }
  }
}

/** Puts the search program beside a daemon bundle, where the bundle looks first. */
export async function placeRipgrep(bundleFile) {
  const daemon = createRequire(join(repositoryRoot, "packages/exec-daemon/package.json"));
  const ripgrep = createRequire(daemon.resolve("@vscode/ripgrep"));
  const source = ripgrep.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`);
  const target = join(repositoryRoot, dirname(bundleFile), "rg");
  await mkdir(dirname(target), { recursive: true });
  await copyFile(source, `${target}.${process.pid}.tmp`);
  await rename(`${target}.${process.pid}.tmp`, target);
}
