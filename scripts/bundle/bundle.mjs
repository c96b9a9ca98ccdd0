/**
 * Bundles one entry point to one CommonJS file, the same bytes from the same source.
 *
 * Nothing of the machine goes in: paths are relative to the repository, no times, no source map. A bundle is ASCII
 * alone, because V8 keeps such a text in half the memory. A `cached` one carries its program so that a start can take it
 * from a code cache (load-program.mjs).
 * The test build is the same source with one constant changed, so what the crash tests stop in the
 * middle is what ships.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { build } from "esbuild";
import { carriedModules } from "./carried-modules.mjs";
import { embeddedGrammar } from "./embedded-grammar.mjs";
import { embeddedNatives } from "./embedded-natives.mjs";
import { embeddedPty } from "./embedded-pty.mjs";
import { embeddedS3 } from "./embedded-s3.mjs";
import { embeddedShim } from "./embedded-shim.mjs";
import { lateBuiltins } from "./late-builtins.mjs";
import { licenceTexts } from "./licence-texts.mjs";
import { carryProgram } from "./load-program.mjs";

/** what `import.meta` means in a CommonJS file, where esbuild would leave it empty */
const importMeta = {
  "import.meta.url": "sandBundleUrl",
  "import.meta.filename": "__filename",
  "import.meta.dirname": "__dirname",
};
const bundleUrl = 'const sandBundleUrl = require("node:url").pathToFileURL(__filename).href;';

export class MissingEntry extends Error {}

/**
 * @param {{root: string, entry: string, outfile: string, banner?: string, failpoints: boolean, executable?: boolean, cached?: boolean}} plan
 * @returns {Promise<{outfile: string, bytes: number}>}
 */
export async function bundle(plan) {
  if (!existsSync(join(plan.root, plan.entry))) {
    throw new MissingEntry(`${plan.entry} does not exist, so ${plan.outfile} was not built`);
  }
  const natives = embeddedNatives(plan.root);
  const shim = embeddedShim(plan);
  const pty = embeddedPty(plan.root);
  const grammar = embeddedGrammar(plan.root);
  const s3 = embeddedS3(plan.root);
  const result = await build({
    absWorkingDir: plan.root,
    entryPoints: [plan.entry],
    outfile: plan.outfile,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node22",
    format: "cjs",
    // A program that is compiled from its text has no `import()`; what it loads later is in it, or Node's own.
    supported: { "dynamic-import": false },
    charset: "ascii",
    legalComments: "none",
    logLevel: "error",
    // Removes the branches of the constant below; names stay, for stack traces.
    minifySyntax: true,
    // The text stays in memory as long as the program. Lines short enough to find a place of a stack trace in.
    minifyWhitespace: true,
    lineLimit: 160,
    banner: { js: plan.cached ? bundleUrl : [plan.banner, bundleUrl].filter(Boolean).join("\n") },
    define: {
      ...importMeta,
      SAND_FAILPOINTS: String(plan.failpoints),
      "globalThis.__SAND_FAILPOINTS__": String(plan.failpoints),
    },
    plugins: [
      natives.plugin,
      shim.plugin,
      pty.plugin,
      grammar.plugin,
      s3.plugin,
      carriedModules(),
      lateBuiltins(),
    ],
  });
  const target = resolve(plan.root, plan.outfile);
  const program = result.outputFiles[0].text;
  const tail = natives.carried() + shim.carried() + pty.carried() + grammar.carried() + s3.carried();
  const text = Buffer.from(
    plan.cached ? carryProgram({ banner: plan.banner, text: program, tail }) : `${program}${tail}`,
  );
  await writeWhole(target, text, plan.executable ? 0o755 : 0o644);
  await writeWhole(
    `${target}.licences.txt`,
    await licenceTexts(plan.root, { inputs: { ...result.metafile.inputs, ...s3.inputs() } }),
    0o644,
  );
  return { outfile: plan.outfile, bytes: text.byteLength };
}

/** A reader never sees half a bundle: two builds may run at once, and a host may be starting from it. */
async function writeWhole(target, contents, mode) {
  await mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.${process.pid}.tmp`;
  await writeFile(temporary, contents);
  await chmod(temporary, mode);
  await rename(temporary, target);
}
