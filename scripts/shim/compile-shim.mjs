/**
 * Compiles the native shim where a C compiler is, once for each state of its sources. The result lies beside them, in
 * `packages/exec-daemon/native/dist/<platform>-<architecture>/`: `sand-shim`, and `sand-shim-failpoints` for test builds.
 *
 * It is linked statically, because a bundle carries it into images whose C library isn't ours; where the static library
 * is missing it is linked as usual and then serves this machine only. Without a compiler nothing is built: the daemon
 * then keeps executions by Node processes, and says so.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../bundle/outputs.mjs";

const target = `${process.platform}-${process.arch}`;

const flags = [
  ...["-std=gnu11", "-Os", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion"],
  ...["-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-ffunction-sections", "-fdata-sections"],
  // Nothing of the machine and no time goes in, so that the same source gives the same bytes.
  ...["-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,relro,-z,now", "-s"],
];

const stampName = "built.json";
const variants = [
  { name: "sand-shim", defines: [] },
  { name: "sand-shim-failpoints", defines: ["-DSAND_FAILPOINTS"] },
];

/**
 * Where the programs are, or why there are none.
 * @returns {{built: true, shim: string, failpoints: string, isStatic: boolean} | {built: false, reason: string}}
 */
export function compileShim({ root = repositoryRoot } = {}) {
  const sources = join(root, "packages/exec-daemon/native");
  const output = join(sources, "dist", target);
  if (process.platform !== "linux") return { built: false, reason: "the shim is for Linux" };
  const stamp = stampOf(sources);
  if (readStamp(output)?.stamp !== stamp) {
    const failure = compileAll(sources, output, stamp);
    if (failure !== undefined) return { built: false, reason: failure };
  }
  return {
    built: true,
    shim: join(output, "sand-shim"),
    failpoints: join(output, "sand-shim-failpoints"),
    isStatic: readStamp(output)?.isStatic === true,
  };
}

function stampOf(sources) {
  const hash = createHash("sha256").update(flags.join(" "));
  for (const name of sourceNames(sources)) hash.update(name).update(readFileSync(join(sources, name)));
  return hash.digest("hex");
}

function sourceNames(sources) {
  return readdirSync(sources)
    .filter((name) => /\.[ch]$/.test(name))
    .sort();
}

/** What was built last; undefined when a part of it is missing. */
function readStamp(output) {
  const names = [stampName, ...variants.map(({ name }) => name)];
  if (!names.every((name) => existsSync(join(output, name)))) return undefined;
  return JSON.parse(readFileSync(join(output, stampName), "utf8"));
}

/** Undefined when all of it is in place. */
function compileAll(sources, output, stamp) {
  mkdirSync(output, { recursive: true });
  let isStatic = true;
  for (const { name, defines } of variants) {
    const copy = join(output, `.${name}.${process.pid}.tmp`);
    try {
      let failure = isStatic ? runCompiler(sources, [...defines, "-static"], copy) : "";
      if (failure !== undefined) {
        isStatic = false;
        failure = runCompiler(sources, defines, copy);
      }
      if (failure !== undefined) return failure;
      renameSync(copy, join(output, name));
    } finally {
      rmSync(copy, { force: true });
    }
  }
  const stampFile = join(output, stampName);
  writeFileSync(`${stampFile}.${process.pid}.tmp`, `${JSON.stringify({ stamp, isStatic })}\n`);
  renameSync(`${stampFile}.${process.pid}.tmp`, stampFile);
  return undefined;
}

/** In the folder itself and by plain names, so that no path of this machine can get into the program. */
function runCompiler(sources, extra, file) {
  const files = sourceNames(sources).filter((name) => name.endsWith(".c"));
  const done = spawnSync("cc", [...flags, ...extra, "-o", file, ...files], {
    cwd: sources,
    encoding: "utf8",
  });
  if (done.error !== undefined) return `there is no C compiler (${done.error.code ?? done.error.message})`;
  return done.status === 0 ? undefined : `the compiler failed: ${done.stderr.slice(0, 2000)}`;
}
