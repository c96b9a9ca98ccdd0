/**
 * One daemon for each data root: two would both adopt the same executions and both believe the other's unclaimed ones
 * to be theirs. The lock is a file that names its holder and appears whole, by a link; a holder that no longer lives,
 * by pid, start time and boot id, has none.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSameProcess, type ProcessIdentity } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";

const attemptsMax = 5;

/** Throws `host/locked` when a living daemon has it. Returns the release. */
export function takeDaemonLock(dataRoot: string, identity: ProcessIdentity): () => void {
  const path = join(dataRoot, "exec-daemon.lock");
  const mine = `${path}.${identity.pid}`;
  writeFileSync(mine, JSON.stringify(identity), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      if (tryLink(mine, path)) return () => rmSync(path, { force: true });
      const holder = readHolder(path);
      if (holder !== undefined && isSameProcess(holder)) {
        throw new BoxError("host/locked", `a daemon with pid ${holder.pid} works on this data root`, {
          details: { pid: holder.pid },
        });
      }
      moveAway(path, `${mine}.stale`);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  throw new BoxError("host/locked", "other daemons keep taking the lock of this data root");
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function readHolder(path: string): ProcessIdentity | undefined {
  try {
    // Written whole by a daemon, so reading it is its parser.
    return JSON.parse(readFileSync(path, "utf8")) as ProcessIdentity;
  } catch {
    // Released in between, or not ours: there is no living holder to respect.
    return undefined;
  }
}

function moveAway(path: string, to: string): void {
  try {
    renameSync(path, to);
    rmSync(to, { force: true });
  } catch {
    // Somebody else did it; the next attempt shows who holds it now.
  }
}
