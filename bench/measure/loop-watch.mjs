/** The delay of a server's event loop, seen from inside by `load/watch-loop.mjs`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { waitUntil } from "../../packages/testkit/src/index.ts";

const preload = pathToFileURL(join(import.meta.dirname, "../load/watch-loop.mjs"));

/** what the server's environment needs; `file` is one that only this server writes */
export function watchedEnv(file) {
  return { NODE_OPTIONS: `--import=${preload}?file=${encodeURIComponent(file)}` };
}

export function createLoopWatch(pid, file) {
  let writes = 0;
  const read = () => {
    try {
      return JSON.parse(readFileSync(file, "utf8"));
    } catch {
      // Not written yet.
      return undefined;
    }
  };
  async function take() {
    writes += 1;
    process.kill(pid, "SIGUSR2");
    await waitUntil("the loop's figures", () => read()?.writes === writes, {
      deadlineMs: 60_000,
      everyMs: 20,
    });
    return read();
  }
  return {
    /** the delay while `work` runs, beside its result */
    async during(work) {
      await take();
      const result = await work();
      return { result, delay: await take() };
    },
  };
}
