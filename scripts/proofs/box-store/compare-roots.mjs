/** What of two data roots must be equal after a restore, by hash; and what is in a store's databases. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const load = createRequire(new URL("../../../packages/store/package.json", import.meta.url));
const Sqlite = load("better-sqlite3");
const kept = /^(?:agents|user-memory|workflows|artifacts)\/|^(?:host-settings|policy|mcp)\.json$/u;
const leftOut = /-(?:wal|shm|journal)$|\.tmp$/u;

export function fingerprint(root) {
  const found = {};
  for (const name of readdirSync(root, { recursive: true })) {
    const path = join(root, name);
    if (!kept.test(name) || leftOut.test(name) || !statSync(path).isFile()) continue;
    found[name] = createHash("sha256").update(readFileSync(path)).digest("hex");
  }
  return found;
}

/** Names of files that differ, or are in one of them only. */
export function differences(left, right) {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].filter((name) => left[name] !== right[name]);
}

/** The nonces that a root's stores have accepted, and the verdict of SQLite's full check on each database. */
export function readStores(root) {
  const nonces = new Set();
  const unsound = [];
  for (const agent of readdirSync(join(root, "agents"), { withFileTypes: true })) {
    if (!agent.isDirectory()) continue;
    const folder = join(root, "agents", agent.name);
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".db"))) {
      const database = new Sqlite(join(folder, file), { fileMustExist: true });
      const verdict = database.pragma("integrity_check", { simple: true });
      if (verdict !== "ok") unsound.push(`${agent.name}/${file}: ${verdict}`);
      if (file === "store.db") {
        for (const nonce of database.prepare("SELECT nonce FROM prompts").pluck().iterate())
          nonces.add(nonce);
      }
      database.close();
    }
  }
  return { nonces, unsound };
}
