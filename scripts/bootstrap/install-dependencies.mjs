/** Installs the dependencies exactly as locked, unless the stamp says that this was done for these very files. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, say } from "./failure.mjs";
import { root } from "./pins.mjs";
import { platformName } from "./platform.mjs";
import { runProcess, tailOf } from "./run-process.mjs";

const stamp = join(root, "node_modules", ".sand-installed");

/** @param {Record<string, string>} env */
export async function installDependencies(env) {
  const wanted = digestOfManifests();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say("installing the dependencies as locked");
  const quiet = { ...env, CI: "1" };
  const ran = await runProcess("pnpm", ["install", "--frozen-lockfile"], {
    cwd: root,
    env: quiet,
    show: false,
  });
  if (ran.code !== 0) throw explain(ran.output);
  writeFileSync(stamp, wanted);
}

function explain(output) {
  if (/OUTDATED_LOCKFILE|frozen-lockfile/.test(output)) {
    return new Failure(
      "pnpm-lock.yaml doesn't match the manifests",
      "run `node scripts/bootstrap.mjs pnpm install --no-frozen-lockfile` and commit the lock file",
    );
  }
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ENETUNREACH|META_FETCH_FAIL/.test(output)) {
    return new Failure(
      `pnpm can't reach its registry:\n${tailOf(output)}`,
      "check the network, or the registry and proxy in your npm configuration, then run this again",
    );
  }
  if (/ENOSPC/.test(output))
    return new Failure("the disk is full", "about 1 GB is needed; make room, then run this again");
  return new Failure(
    `pnpm could not install the dependencies:\n${tailOf(output)}`,
    "mend what pnpm says above, then run this again",
  );
}

function digestOfManifests() {
  const folders = readdirSync(join(root, "packages")).map((name) => join("packages", name));
  const files = [
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ...["", ...folders].map((folder) => join(folder, "package.json")),
  ];
  const hash = createHash("sha256").update(platformName());
  for (const file of files.sort()) {
    if (existsSync(join(root, file))) hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  }
  return `${hash.digest("hex")}\n`;
}
