/** Puts the pinned Node and pnpm under `.toolchain/`, by the npm that came with the Node that started us. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure, say } from "./failure.mjs";
import { toolchain } from "./pins.mjs";
import { runProcess, tailOf } from "./run-process.mjs";

/** @param {{node: string, pnpm: string}} pins @returns {Promise<Record<string, string>>} the environment to run in */
export async function installToolchain(pins) {
  const env = toolchainEnv();
  if (isRight(pins, env)) return env;
  say(`installing Node ${pins.node} and pnpm ${pins.pnpm} into .toolchain/ (about 150 MB, once)`);
  writeFileSync(
    join(toolchain, "package.json"),
    `${JSON.stringify({ name: "sand-toolchain", private: true, dependencies: { node: pins.node, pnpm: pins.pnpm } })}\n`,
  );
  const ran = await runProcess("npm", npmArguments, { cwd: toolchain, env: npmEnv(), show: false });
  if (ran.code !== 0) throw explain(ran);
  if (!isRight(pins, env)) {
    throw new Failure(
      "the installed Node or pnpm doesn't run",
      "remove the folder .toolchain and try again; on Linux, glibc 2.28 or newer is needed",
    );
  }
  return env;
}

/** Node's package fetches the binary by an install script, so scripts must run whatever the user's npm says. */
const npmArguments = [
  "install",
  "--prefix",
  toolchain,
  "--ignore-scripts=false",
  "--include=optional",
  "--global=false",
  "--no-audit",
  "--no-fund",
  "--no-package-lock",
  "--loglevel=error",
];

function explain(ran) {
  if (ran.code === 127) return new Failure("npm isn't on PATH", "install Node with its npm (18 or newer)");
  const noNetwork = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ENETUNREACH/.exec(ran.output);
  if (noNetwork) {
    return new Failure(
      `npm can't reach its registry (${noNetwork[0]})`,
      "check the network, or the registry and proxy in your npm configuration, then run this again",
    );
  }
  return new Failure(
    `npm could not install the toolchain:\n${tailOf(ran.output)}`,
    "mend what npm says above, then run this again",
  );
}

function toolchainEnv() {
  const path = [join(toolchain, "node_modules", ".bin"), process.env.PATH || ""].join(delimiter);
  return { ...process.env, PATH: path, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" };
}

/**
 * `npm test` sets variables for its own project, which would make the inner npm install into that
 * project instead of the folder it is told. The user's registry and proxy come from files and stay.
 */
function npmEnv() {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (/^npm_(package|lifecycle|command|execpath|config_(local_prefix|prefix|global))/i.test(name))
      delete env[name];
  }
  delete env.INIT_CWD;
  return env;
}

function isRight(pins, env) {
  return version("node", env) === `v${pins.node}` && version("pnpm", env) === pins.pnpm;
}

function version(program, env) {
  const file = join(toolchain, "node_modules", ".bin", program);
  const ran = spawnSync(file, ["--version"], {
    cwd: toolchain,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return ran.status === 0 ? ran.stdout.trim() : undefined;
}
