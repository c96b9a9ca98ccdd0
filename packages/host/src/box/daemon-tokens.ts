/**
 * The bearer that host and daemon share. One that was configured is used; otherwise a random one is made once and kept
 * in a 0600 file of the data root, which commands can't read. `local` is what a daemon takes that somebody started by
 * hand on loopback with nothing configured, so it is tried last and never given to a daemon that we start.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";

const tokenBytes = 32;

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
      return text === "" ? undefined : text;
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
      const token = configured ?? stored() ?? randomBytes(tokenBytes).toString("hex");
      if (stored() !== token) await writeFileAtomic(path, `${token}\n`, { mode: 0o600 });
      return { path, token };
    },
  };
}
