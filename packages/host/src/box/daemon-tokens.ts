/**
 * The bearer that host and daemon share. One that was configured is used; otherwise a random one is made once and kept
 * in a 0600 file of the data root, which commands can't read. `local` is what a daemon takes that somebody started by
 * hand on loopback with nothing configured, so it is tried last and never given to a daemon that we start.
 *
 * A file that holds no token, or that others may read, is made anew with the next daemon. While one runs it keeps the
 * file right by itself.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";

const tokenBytes = 32;
/** what a header can carry and a daemon may have been given; anything else in the file is junk */
const tokenShape = /^[\x21-\x7e]{8,4096}$/u;

export interface DaemonTokens {
  /** what a living daemon may accept, the likeliest first */
  candidates(): readonly string[];
  /** Makes sure of the file that a daemon of ours reads; returns its path and what is in it. */
  prepareFile(): Promise<{ readonly path: string; readonly token: string }>;
}

export function createDaemonTokens(dataRoot: string, configured: string | null): DaemonTokens {
  const path = join(dataRoot, "exec-daemon.token");

  function stored(): string | undefined {
    try {
      const text = readFileSync(path, "utf8").trim();
      return tokenShape.test(text) ? text : undefined;
    } catch {
      // None was made yet.
      return undefined;
    }
  }

  return {
    candidates() {
      if (configured !== null) return [configured];
      const kept = stored();
      return kept === undefined ? ["local"] : [kept, "local"];
    },
    async prepareFile() {
      // A daemon refuses a file that others may read, and what others may have read is no secret any more.
      const kept = isOurs(path) ? stored() : undefined;
      const token = configured ?? kept ?? randomBytes(tokenBytes).toString("hex");
      if (kept !== token) await writeFileAtomic(path, `${token}\n`, { mode: 0o600 });
      return { path, token };
    },
  };
}

function isOurs(path: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts?.isFile() === true && (facts.mode & 0o077) === 0;
}
