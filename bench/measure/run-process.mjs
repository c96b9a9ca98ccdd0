/**
 * Processes of a bench: each is started with an environment of its own and gone when it is disposed. Whatever is left
 * when this process ends is killed by its pid.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));

/** nothing of the caller's own settings may change what is measured */
export const searchPath = "/usr/local/bin:/usr/bin:/bin";
const basicEnv = { PATH: searchPath, HOME: "/nonexistent" };

/** Starts a program whose lines on standard output are JSON; `next()` waits for one, with a deadline. */
export function startProgram(command, args, { env = basicEnv, cwd, input } = {}) {
  const child = spawn(command, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
  running.add(child);
  const ended = new Promise((resolve) => child.once("close", resolve)).then(() => running.delete(child));
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors = `${errors}${chunk}`.slice(-4000);
  });
  child.once("error", (error) => {
    errors = `${errors}${error}`;
  });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (deadlineMs = 120_000) => {
    let timer;
    const late = new Promise((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`${args[0]} said nothing for ${deadlineMs} ms: ${errors}`)),
        deadlineMs,
      );
    });
    try {
      const { value, done } = await Promise.race([lines.next(), late]);
      if (done) throw new Error(`${args[0]} ended: ${errors}`);
      return JSON.parse(value);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    pid: child.pid,
    next,
    isGone: () => child.exitCode !== null || child.signalCode !== null,
    errors: () => errors,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}

export function startNode(file, args = [], options = {}) {
  return startProgram(process.execPath, [file, ...args], options);
}

/** Runs a program to its one line. */
export async function runNode(file, args = [], options = {}) {
  await using program = startNode(file, args, options);
  return await program.next(options.deadlineMs);
}
