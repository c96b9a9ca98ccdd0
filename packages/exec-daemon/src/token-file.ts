/**
 * Keeps the file with the daemon's bearer right while the daemon lives, as the discovery file is kept: a host and the
 * command line read it at each call, and one that was lost or replaced would lock them out of a daemon that runs.
 *
 * Only a file of the data root, which is ours alone. Another one, as in the image, is its owner's.
 */
import { lstatSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { type Scope, systemClock, writeFileAtomic } from "@sand/node-kit";

/** how often the file is looked at, in `ms` */
const lookEveryMs = 1_000;

export interface TokenFileDeps {
  /** absent: the token came another way */
  readonly tokenFile: string | undefined;
  readonly token: string;
  readonly dataRoot: string;
}

export function keepTokenFile(scope: Scope, { tokenFile, token, dataRoot }: TokenFileDeps): void {
  if (tokenFile === undefined || relative(dataRoot, tokenFile).startsWith("..")) return;
  let known = signOf(tokenFile);
  scope.run("keep the token's file", async (signal) => {
    while (!signal.aborted) {
      await systemClock.sleep(lookEveryMs, signal);
      const sign = signOf(tokenFile);
      // One that wasn't touched isn't read.
      if (signal.aborted || (sign !== "" && sign === known)) continue;
      if (!holds(tokenFile, token)) await write(tokenFile, token);
      known = signOf(tokenFile);
    }
  });
}

/** Another text after each change; empty when it isn't there. */
function signOf(path: string): string {
  const facts = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return facts === undefined
    ? ""
    : [facts.ino, facts.mode, facts.size, facts.mtimeNs, facts.ctimeNs].join(" ");
}

function holds(path: string, token: string): boolean {
  try {
    const facts = lstatSync(path);
    return facts.isFile() && (facts.mode & 0o077) === 0 && readFileSync(path, "utf8").trim() === token;
  } catch {
    return false;
  }
}

/** What keeps it from being written now, such as a full disk, may pass: the next look tries again. */
async function write(path: string, token: string): Promise<void> {
  try {
    await writeFileAtomic(path, `${token}\n`, { mode: 0o600 });
  } catch {
    // Tried again at the next look; who knows the token is served meanwhile.
  }
}
