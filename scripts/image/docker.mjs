/** Runs the `docker` program and others for the image build: quietly for a question, with their output as progress else. */
import { spawn, spawnSync } from "node:child_process";

const questionMaxMs = 30_000;

/** What a program answers on standard output; undefined when it fails. */
export function ask(program, args) {
  const answer = spawnSync(program, args, { encoding: "utf8", timeout: questionMaxMs });
  return answer.status === 0 ? answer.stdout.trim() : undefined;
}

/** Throws when it fails or takes longer. Everything that it prints goes to standard error. */
export async function run(program, args, { maxMs, cwd, env }) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", process.stderr, "inherit"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), maxMs);
  const status = await new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(code ?? signal));
  });
  clearTimeout(timer);
  if (status !== 0) throw new Error(`${program} ${args[0]} failed (${status})`);
}
