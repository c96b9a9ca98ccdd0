/** A thread that ends badly: it has its database open and stands in the middle of a transaction. */
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { openBlobDatabase } from "../src/blobs/blob-database.ts";

const { path, way } = workerData as { readonly path: string; readonly way?: string };
/** as the pool starts it, the way is the name of the agent's folder */
const chosen = way ?? path.split("/").at(-2);
const { database } = openBlobDatabase(path);

function begin(): void {
  database.begin();
  database.connection.prepare("INSERT INTO blobs (id, data) VALUES ('uncommitted', zeroblob(100000))").run();
  parentPort?.postMessage([]);
}

async function end(): Promise<void> {
  begin();
  if (chosen === "throw") throw new Error("a thread threw");
  if (chosen === "reject") {
    await sleep(1);
    throw new Error("a thread rejected");
  }
  if (chosen === "exit") process.exit(3);
  for (;;) database.connection.prepare("SELECT count(*) FROM blobs").get();
}

if (way === undefined) parentPort?.on("message", () => void end());
else await end();
