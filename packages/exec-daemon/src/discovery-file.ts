/**
 * The daemon's discovery file: where it listens and who it is.
 *
 * A host finds a daemon on any port by this file alone, and only one daemon may work on a data root. So a file that
 * was lost or damaged while the daemon lives is written again; without it the host would start a second daemon that
 * the lock refuses, for as long as the first one lives.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Scope, systemClock, writeFileAtomic } from "@sand/node-kit";
import { type ExecDiscovery, execDiscoveryFile, parseExecDiscovery } from "@sand/protocol/exec";

/** how often the file is looked at, in `ms`; a host waits longer than that for a daemon to appear */
const lookEveryMs = 1_000;

/** Writes the file, keeps it right for as long as the scope is open, and removes it at the end if it is still ours. */
export async function publishDiscovery(
  scope: Scope,
  dataRoot: string,
  discovery: ExecDiscovery,
): Promise<void> {
  const path = join(dataRoot, execDiscoveryFile);
  await writeFileAtomic(path, JSON.stringify(discovery));
  scope.defer(() => {
    if (isOurs(path, discovery)) rmSync(path, { force: true });
  });
  scope.run("keep the discovery file", async (signal) => {
    while (!signal.aborted) {
      await systemClock.sleep(lookEveryMs, signal);
      if (!signal.aborted && !isOurs(path, discovery)) await rewrite(path, discovery);
    }
  });
}

/** What keeps the file from being written now, such as a full disk, may pass: the next look tries again. */
async function rewrite(path: string, discovery: ExecDiscovery): Promise<void> {
  try {
    await writeFileAtomic(path, JSON.stringify(discovery));
  } catch {
    // Tried again at the next look; the daemon serves whoever knows its port meanwhile.
  }
}

function isOurs(path: string, own: ExecDiscovery): boolean {
  try {
    const found = parseExecDiscovery(readFileSync(path, "utf8"));
    return found?.pid === own.pid && found.rpcPort === own.rpcPort && found.startTime === own.startTime;
  } catch {
    return false;
  }
}
