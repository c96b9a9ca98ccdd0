/**
 * A process that keeps a payload in one database and the name of it in another, as an agent's store does: a new payload
 * first, then its name instead of the old one's, then the old payload goes. At every moment the name has its payload.
 */
import SqliteDatabase from "better-sqlite3";

const [storePath = "", payloadsPath = ""] = process.argv.slice(2);
function open(path: string): SqliteDatabase.Database {
  const database = new SqliteDatabase(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = OFF");
  return database;
}
const store = open(storePath);
const payloads = open(payloadsPath);
store.exec("CREATE TABLE root (one INTEGER PRIMARY KEY, id INTEGER NOT NULL) STRICT");
payloads.exec("CREATE TABLE blobs (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT");
const put = payloads.prepare("INSERT INTO blobs VALUES (?, randomblob(5000))");
const name = store.prepare("INSERT OR REPLACE INTO root VALUES (1, ?)");
const drop = payloads.prepare("DELETE FROM blobs WHERE id < ?");

let id = 0;
const parent = process.ppid;
function go(): void {
  // Whoever started it is gone, so nobody will end it.
  if (process.ppid !== parent) process.exit(0);
  id += 1;
  put.run(id);
  name.run(id);
  drop.run(id);
  if (id === 1) process.stdout.write("ready\n");
  setTimeout(go, 2);
}
go();
