/**
 * What of a data root belongs into a snapshot: agents with everything in their folders, and what people set for the
 * whole host. Left out is what is made again (the index, projections, logs, executions), what is one machine's (locks,
 * discovery, natives) and credentials (tokens, logins, connectors' secrets, browser profiles).
 *
 * Links aren't followed: a snapshot holds what lies in the data root, and nothing else.
 */
import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import { BoxError } from "@sand/protocol";
import { snapshotLimits } from "./limits.ts";
import { isSafePath } from "./snapshot-manifest.ts";

/** Files that are read together, so that what one says of another holds. */
export interface SnapshotGroup {
  /** databases of one agent's folder, the store first: it refers to the others */
  readonly databases: readonly string[];
  readonly files: readonly string[];
}

const wholeFolders = ["agents", "user-memory", "workflows", "artifacts"];
const singleFiles = ["host-settings.json", "policy.json", "mcp.json"];
const leftOutFolders: ReadonlySet<string> = new Set(["quarantine", "connector-secrets"]);
const storeName = "store.db";

export function findSnapshotFiles(root: string): readonly SnapshotGroup[] {
  const shared: string[] = [];
  const groups: SnapshotGroup[] = [];
  for (const entry of listFolder(root)) {
    if (entry.isFile() && singleFiles.includes(entry.name)) shared.push(entry.name);
    if (!entry.isDirectory() || !wholeFolders.includes(entry.name)) continue;
    if (entry.name === "agents") groups.push(...findAgents(root, shared));
    else collectFiles(root, entry.name, shared);
  }
  groups.push({ databases: [], files: shared.sort() });
  refuseTooMany(groups);
  return groups;
}

function findAgents(root: string, shared: string[]): readonly SnapshotGroup[] {
  const groups: SnapshotGroup[] = [];
  for (const entry of listFolder(join(root, "agents"))) {
    const path = `agents/${entry.name}`;
    if (entry.isFile() && isKept(entry.name)) shared.push(path);
    if (!entry.isDirectory() || !isSafePath(path)) continue;
    const found: string[] = [];
    collectFiles(root, path, found);
    const isDatabase = (file: string): boolean => file.endsWith(".db") && file.split("/").length === 3;
    const databases = found.filter(isDatabase).sort(storeFirst);
    groups.push({ databases, files: found.filter((file) => !isDatabase(file)).sort() });
  }
  return groups.sort((left, right) => compare(first(left), first(right)));
}

function collectFiles(root: string, folder: string, into: string[]): void {
  for (const entry of listFolder(join(root, folder))) {
    const path = `${folder}/${entry.name}`;
    if (!isSafePath(path)) continue;
    if (entry.isDirectory() && !leftOutFolders.has(entry.name)) collectFiles(root, path, into);
    if (entry.isFile() && isKept(entry.name)) into.push(path);
  }
}

/** Not what SQLite keeps beside a database, nor what an interrupted write left behind. */
function isKept(name: string): boolean {
  return !/-(?:wal|shm|journal)$/u.test(name) && !/^\..*\.tmp$/u.test(name);
}

function listFolder(path: string): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    // An agent that was deleted meanwhile isn't there any more, and that is what the snapshot says.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

function storeFirst(left: string, right: string): number {
  return (
    Number(right.endsWith(`/${storeName}`)) - Number(left.endsWith(`/${storeName}`)) || compare(left, right)
  );
}

function first(group: SnapshotGroup): string {
  return group.databases[0] ?? group.files[0] ?? "";
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function refuseTooMany(groups: readonly SnapshotGroup[]): void {
  const count = groups.reduce((sum, { databases, files }) => sum + databases.length + files.length, 0);
  if (count <= snapshotLimits.filesMax) return;
  throw new BoxError("box-store/refused", `the data root has more than ${snapshotLimits.filesMax} files`);
}
