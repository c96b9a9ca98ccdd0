/** Pings a daemon from a process of its own while some work goes on, and tells how long the answers took. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = join(import.meta.dirname, "../load/ping-daemon.mjs");

export async function whilePinging({ url, token }, work) {
  const child = spawn(process.execPath, [program, url, token], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve) => child.once("close", resolve));
  try {
    await lines.next();
    const startedMs = performance.now();
    const result = await work();
    const tookMs = performance.now() - startedMs;
    child.stdin.end();
    const { value } = await lines.next();
    return { result, tookMs, ping: JSON.parse(value) };
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}
