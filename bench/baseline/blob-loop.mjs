/**
 * Bare better-sqlite3 with the same duty as the blobs of an agent: each payload durable under its SHA-256, several to a
 * transaction, and checked against it when it is read. Imports nothing of ours.
 */
import { createHash, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";

const { folder, bytes, seconds, together } = JSON.parse(process.argv[2]);
const fromStore = createRequire(join(import.meta.dirname, "../../packages/store/package.json"));
const Database = fromStore("better-sqlite3");
const database = new Database(join(folder, `bare-${process.pid}.db`));
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");
database.exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT");
const insert = database.prepare("INSERT INTO blobs (id, data) VALUES (?, ?) ON CONFLICT DO NOTHING");
const select = database.prepare("SELECT data FROM blobs WHERE id = ?").pluck();
const idOf = (data) => createHash("sha256").update(data).digest("hex");
const ids = [];

function rate(work) {
  const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()];
  let count = 0;
  while (performance.now() - startedMs < seconds * 1_000) count += work(count);
  const cpu = process.cpuUsage(startedCpu);
  return {
    perSecond: (1_000 * count) / (performance.now() - startedMs),
    perCpuSecond: (1e6 * count) / (cpu.user + cpu.system),
  };
}

const put = rate(() => {
  database.transaction(() => {
    for (let at = 0; at < together; at += 1) {
      const payload = Buffer.alloc(bytes, 7);
      payload.write(randomUUID(), "latin1");
      const id = idOf(payload);
      insert.run(id, payload);
      ids.push(id);
    }
  })();
  return together;
});
function checked(id) {
  const data = select.get(id);
  if (idOf(data) !== id) throw new Error("damaged");
  return data;
}

const get = rate((count) => {
  checked(ids[count % ids.length]);
  return 1;
});
/** far apart, and as text */
const read = rate((count) => {
  checked(ids[(count * 997) % ids.length]).toString("utf8");
  return 1;
});
database.close();
process.stdout.write(`${JSON.stringify({ put, get, read })}\n`);
