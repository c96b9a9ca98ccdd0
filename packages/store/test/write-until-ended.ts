/**
 * A process that writes to a database nearly without a pause: it moves amounts between rows, so that the sum is always the
 * same, adds and deletes rows of many sizes, and now and then empties the log, the hardest moment for a reader.
 */
import SqliteDatabase from "better-sqlite3";

const [path = "", seed = "1"] = process.argv.slice(2);
const database = new SqliteDatabase(path);
database.pragma("journal_mode = WAL");
database.pragma("synchronous = OFF");
database.pragma("wal_autocheckpoint = 50");
database.exec("CREATE TABLE IF NOT EXISTS amounts (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL) STRICT");
database.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT");
database.exec(
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT OR IGNORE INTO amounts SELECT i, 1000 FROM n",
);
const move = database.prepare("UPDATE amounts SET amount = amount + ? WHERE id = ?");
const add = database.prepare("INSERT INTO notes (body) VALUES (randomblob(?))");
const drop = database.prepare(
  "DELETE FROM notes WHERE id % 7 = ? AND id < (SELECT max(id) FROM notes) - 100",
);

let state = Number(seed) || 1;
function random(below: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((state / 2_147_483_648) * below);
}

const round = database.transaction(() => {
  const amount = random(50);
  move.run(-amount, 1 + random(100));
  move.run(amount, 1 + random(100));
  for (let count = random(4); count > 0; count -= 1) add.run(1 + random(20_000));
  if (random(5) === 0) drop.run(random(7));
});

process.on("SIGTERM", () => {
  database.close();
  process.exit(0);
});
process.stdout.write("ready\n");
const parent = process.ppid;
function go(): void {
  // Whoever started it is gone, so nobody will end it.
  if (process.ppid !== parent) process.exit(0);
  for (let rounds = 0; rounds < 20; rounds += 1) round();
  if (random(10) === 0) {
    database.pragma("busy_timeout = 0");
    database.pragma("wal_checkpoint(TRUNCATE)");
  }
  setTimeout(go, 1);
}
go();
