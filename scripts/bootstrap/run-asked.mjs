/** Runs what was asked: a journey of this repository, a script of package.json, or any command. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "./failure.mjs";
import { root } from "./pins.mjs";
import { runProcess } from "./run-process.mjs";

/** journeys build first and are not the script of the same name, which would start this one again */
const journeys = {
  demo: (args) => ["node", "scripts/demo.mjs", ...args],
  test: (args) => ["pnpm", "exec", "vitest", "run", ...args],
};

/** @param {string[]} asked @param {Record<string, string>} env @returns {Promise<number>} the exit code */
export async function runAsked(asked, env) {
  const [what, ...args] = asked;
  const options = { cwd: root, env, show: true };
  if (Object.hasOwn(journeys, what)) {
    say("building the bundles");
    const built = await runProcess("pnpm", ["run", "--silent", "build"], { ...options, show: false });
    if (built.code !== 0) {
      process.stderr.write(built.output);
      return built.code;
    }
    const [program, ...rest] = journeys[what](args);
    return (await runProcess(program, rest, options)).code;
  }
  const scripts = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).scripts;
  if (Object.hasOwn(scripts, what)) return (await runProcess("pnpm", ["run", what, ...args], options)).code;
  return (await runProcess(what, args, options)).code;
}
