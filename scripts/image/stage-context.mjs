/** Puts together what the two Dockerfiles copy: a folder for each, with nothing in it but that. */
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { repositoryRoot } from "../bundle/outputs.mjs";

const npmArch = { amd64: "x64", arm64: "arm64" };

/** The base's context: its Dockerfile and the pinned Node. Throws when that Node is for another processor. */
export function stageBase(folder, arch) {
  if (process.arch !== npmArch[arch])
    throw new Error(`the pinned Node here is for ${process.arch}; build the ${arch} base on such a machine`);
  copyFileSync(join(repositoryRoot, "docker/base/Dockerfile"), join(folder, "Dockerfile"));
  const target = join(folder, "node", arch);
  mkdirSync(target, { recursive: true });
  copyFileSync(pinnedNode(), join(target, "node"));
  chmodSync(join(target, "node"), 0o755);
}

/** The binary that the npm package `node` ships. */
export function pinnedNode() {
  return join(repositoryRoot, "node_modules/node/bin/node");
}

/** The box's context: programs, natives, what starts them. */
export function stageBox(folder) {
  const dist = join(repositoryRoot, "dist");
  copyFileSync(join(repositoryRoot, "docker/Dockerfile"), join(folder, "Dockerfile"));
  mkdirSync(join(folder, "sand-host"));
  // A build that couldn't start the program has no cache for it.
  for (const file of ["host-main.cjs", "host-main.cjs.licences.txt", "host-main.cjs.code-cache"])
    if (existsSync(join(dist, file))) copyFileSync(join(dist, file), join(folder, "sand-host", file));
  cpSync(join(dist, "box-exec-daemon"), join(folder, "box-exec-daemon"), { recursive: true });
  cpSync(join(repositoryRoot, "docker"), join(folder, "image"), {
    recursive: true,
    filter: (path) => /\/docker(?:\/[^/]+\.(?:mjs|sh))?$/u.test(path),
  });
  stageSqlite(join(folder, "deps"));
  makeReadable(folder);
}

/** The package as it is, without its sources and without what other systems load. */
function stageSqlite(deps) {
  const fromStore = createRequire(join(repositoryRoot, "packages/store/package.json"));
  const source = dirname(fromStore.resolve("better-sqlite3/package.json"));
  const target = join(deps, "better-sqlite3");
  mkdirSync(join(target, "prebuilds"), { recursive: true });
  for (const file of ["package.json", "LICENSE"]) copyFileSync(join(source, file), join(target, file));
  cpSync(join(source, "lib"), join(target, "lib"), { recursive: true, dereference: true });
  for (const name of ["linux-x64.node", "linux-arm64.node"])
    copyFileSync(join(source, "prebuilds", name), join(target, "prebuilds", name));
}

/** Whoever builds may have a strict umask, and the programs run as other accounts. */
function makeReadable(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const isProgram = entry.name === "rg" || entry.name.endsWith(".sh");
    chmodSync(path, entry.isDirectory() || isProgram ? 0o755 : 0o644);
  }
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
}
