/** Payloads through a blob thread, with several calls under way, and reads of the host's own thread. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createLogger } from "../../packages/node-kit/src/index.ts";
import { createBlobReader } from "../../packages/store/src/blobs/blob-reader.ts";
import { createAgentWorkerPool } from "../../packages/store/src/index.ts";

const { folder, bytes, seconds, together } = JSON.parse(process.argv[2]);
const home = join(folder, `ours-${process.pid}`);
mkdirSync(home);
const path = join(home, "conversation-blobs.db");
const pool = createAgentWorkerPool({
  entry: join(import.meta.dirname, "../../packages/store/src/blobs/blob-thread.ts"),
  dataRoot: home,
  logger: createLogger({ name: "bench", level: "error" }),
});
const ids = [];

async function rate(work) {
  const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()];
  let count = 0;
  async function lane() {
    while (performance.now() - startedMs < seconds * 1_000) {
      await work(count);
      count += 1;
    }
  }
  await Promise.all(Array.from({ length: together }, lane));
  const cpu = process.cpuUsage(startedCpu);
  return {
    perSecond: (1_000 * count) / (performance.now() - startedMs),
    perCpuSecond: (1e6 * count) / (cpu.user + cpu.system),
  };
}

await pool.call(path, "put", { blobs: [new Uint8Array(1)] });
const put = await rate(async () => {
  const payload = Buffer.alloc(bytes, 7);
  payload.write(randomUUID(), "latin1");
  ids.push(...(await pool.call(path, "put", { blobs: [payload] })));
});
const get = await rate((count) => pool.call(path, "get", { ids: [ids[count % ids.length]] }));
const reader = createBlobReader(path);
// Far apart, so that none of them is still in memory.
const read = await rate(async (count) => void reader.read(ids[(count * 997) % ids.length]));
reader.close();
await pool.close();
process.stdout.write(`${JSON.stringify({ put, get, read })}\n`);
