/**
 * Runs a program again and again with nothing but `child_process.spawn`, and prints how long each run took. In a process
 * of its own: forking costs by the size of who forks, and a bench grows.
 */
import { spawn } from "node:child_process";

const [times, ...args] = process.argv.slice(2);

/** Through a shell's `exec`, as the daemon does it too, with its output read. */
function run() {
  const startedMs = performance.now();
  const child = spawn("/bin/sh", ["-c", 'exec "$@"', "sh", ...args], { detached: true });
  let bytes = 0;
  child.stdout.on("data", (piece) => {
    bytes += piece.length;
  });
  child.stderr.resume();
  child.stdin.end();
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve({ ms: performance.now() - startedMs, bytes }));
  });
}

const runs = [];
for (let at = 0; at < Number(times); at += 1) runs.push(await run());
process.stdout.write(`${JSON.stringify(runs)}\n`);
