#!/usr/bin/env node
/**
 * Gets from a fresh clone to a running command: `node scripts/bootstrap.mjs <what> [arguments]`.
 *
 * It runs on any Node from 18 on, before anything is installed, so it uses nothing but Node. It
 * installs the pinned Node and pnpm under `.toolchain/`, then the dependencies exactly as locked,
 * then runs what was asked with both first on PATH. What is already right is not done again.
 * Two of these at once are safe: one prepares, the other waits for it.
 */
import { Failure, fail } from "./bootstrap/failure.mjs";
import { installDependencies } from "./bootstrap/install-dependencies.mjs";
import { installToolchain } from "./bootstrap/install-toolchain.mjs";
import { withLock } from "./bootstrap/lock.mjs";
import { readPins } from "./bootstrap/pins.mjs";
import { checkPlatform, installSystemPackages } from "./bootstrap/platform.mjs";
import { runAsked } from "./bootstrap/run-asked.mjs";

const usage = `usage: node scripts/bootstrap.mjs <what> [arguments]

  demo            build, then show one prompt from start to end
  test [filter]   build, then run every test
  build           write the bundles to dist/
  check           format, lint, types, arrows, licences and the other rules
  install         prepare only
  <script>        any other script of package.json
  <command>       anything else, run with the pinned Node and pnpm on PATH

  example: node scripts/bootstrap.mjs node --version
`;

async function main(args) {
  const [what] = args;
  if (what === undefined || what === "--help" || what === "-h") {
    process.stdout.write(usage);
    return what === undefined ? 2 : 0;
  }
  checkPlatform();
  const pins = readPins();
  const env = await withLock(async () => {
    installSystemPackages();
    const prepared = await installToolchain(pins);
    await installDependencies(prepared);
    return prepared;
  });
  return what === "install" ? 0 : runAsked(args, env);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    process.exitCode = 1;
    if (error instanceof Failure) fail(error);
    else throw error;
  },
);
