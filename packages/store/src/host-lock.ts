/**
 * One host for each data root.
 *
 * The truth is a lock that SQLite holds on `lock.db`: the kernel drops it when the process ends, however it ends, so
 * no text has to be believed. `host.lock` tells clients the holder's pid. When the lock can be had, a text that is left
 * over is stale whatever it says: its pid may be ours, or another program's, or from before a reboot.
 */
import { mkdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { nativesFolderOf, prepareSqlite } from "./load-sqlite.ts";
import { refuseNetworkFileSystem } from "./refuse-network-file-system.ts";
import { type Connection, isDamage, isLockedByOther, openForLocking } from "./sqlite.ts";

/** To be kept while the host runs: a lock that nothing refers to is collected, and given up with that. */
export interface HostLock extends Disposable {
  /** whether an earlier host left its text behind */
  readonly outcome: "created" | "reclaimed";
  /** Gives the lock up. Safe to call twice. */
  release(): void;
}

const lockFileName = "lock.db";
const textFileName = "host.lock";
/** held by the one process that waits to take over */
const successorFileName = "successor.db";

export interface AcquireHostLockOptions {
  /** the data root; made when it isn't there */
  readonly root: string;
  /** our own pid, for the text */
  readonly pid: number;
}

/** Throws `host/locked` with the holder's pid when another host has this root. */
export function acquireHostLock({ root, pid }: AcquireHostLockOptions): HostLock {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  refuseNetworkFileSystem(root);
  // The lock is the first database that a host opens.
  prepareSqlite({ nativesFolder: nativesFolderOf(root) });
  const textPath = join(root, textFileName);
  const connection = lock(join(root, lockFileName), textPath);
  const outcome = readHolder(textPath) === "none" ? "created" : "reclaimed";
  writeFileAtomicSync(textPath, `${pid}\n`);
  let held = true;

  function release(): void {
    if (!held) return;
    held = false;
    // The text goes first: once the lock is free it may be the next host's.
    rmSync(textPath, { force: true });
    connection.close();
  }

  return { outcome, release, [Symbol.dispose]: release };
}

/**
 * The right to take over from a host that still runs; one process has it at a time. Throws `host/locked` when another
 * one does. A host must be there, so the root and the library are known to be good.
 */
export function acquireSuccessorLock(root: string): Disposable {
  const path = join(root, successorFileName);
  const connection = openLockFile(path);
  try {
    connection.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    connection.close();
    if (!isLockedByOther(error)) throw unusable(path, error);
    throw new BoxError("host/locked", "another process is about to take over this data root", {
      cause: error,
      hint: "wait for it; sand status shows the host that runs then",
    });
  }
  return { [Symbol.dispose]: () => connection.close() };
}

function lock(path: string, textPath: string, isSecondTry = false): Connection {
  const connection = openLockFile(path);
  try {
    // Nothing is ever written, so the open transaction costs nothing and holds until the connection closes.
    connection.exec("BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection.close();
    if (isDamage(error) && !isSecondTry) {
      // Whoever gets as far as its content isn't kept out by another's lock. It is emptied in its place: a new file
      // would have a lock of its own.
      truncateSync(path, 0);
      return lock(path, textPath, true);
    }
    throw isLockedByOther(error) ? lockedBy(readHolder(textPath), error) : unusable(path, error);
  }
}

function openLockFile(path: string): Connection {
  try {
    return openForLocking(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** It isn't removed here: an unreadable file may still be what another host's lock is held on. */
function unusable(path: string, cause: unknown): BoxError {
  return new BoxError("store/unavailable", `the lock file ${path} can't be used`, {
    cause,
    hint: "when no host runs on this data root, remove that file and start again; it holds no data",
  });
}

function lockedBy(holder: number | "none" | "unreadable", cause: unknown): BoxError {
  const who = typeof holder === "number" ? `process ${holder}` : "another process";
  return new BoxError("host/locked", `this data root is in use by ${who}`, {
    cause,
    hint: "end that host first (sand down), or choose another SAND_DATA_ROOT",
    details: typeof holder === "number" ? { pid: holder } : {},
  });
}

function readHolder(textPath: string): number | "none" | "unreadable" {
  let text: string;
  try {
    text = readFileSync(textPath, "utf8");
  } catch {
    return "none";
  }
  const pid = Number(text.trim());
  return Number.isSafeInteger(pid) && pid > 0 ? pid : "unreadable";
}
