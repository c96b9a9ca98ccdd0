/**
 * `<data root>/gateway.json`: how clients find this host. It holds the token, so only its owner may read it.
 *
 * At shutdown it is removed only if it still names this start of the host: a successor may have written its own.
 */
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";

export interface Discovery {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** empty when the gateway has none: clients demand a string */
  readonly token: string;
  readonly pid: number;
  readonly startedAt: number;
}

export function discoveryPath(dataRoot: string): string {
  return join(dataRoot, "gateway.json");
}

/** What clients should dial. A wildcard is no address, and some clients insist on a loopback one. */
export function dialHost(bindHost: string): string {
  if (bindHost === "0.0.0.0") return "127.0.0.1";
  return bindHost === "::" || bindHost === "" ? "127.0.0.1" : bindHost;
}

export async function writeDiscovery(dataRoot: string, discovery: Discovery): Promise<void> {
  await mkdir(dataRoot, { recursive: true, mode: 0o700 });
  await chmod(dataRoot, 0o700);
  await writeFileAtomic(discoveryPath(dataRoot), `${JSON.stringify(discovery, null, 2)}\n`, { mode: 0o600 });
}

export async function removeDiscovery(dataRoot: string, own: Discovery): Promise<void> {
  const path = discoveryPath(dataRoot);
  if (isSameStart(await readText(path), own)) await rm(path, { force: true });
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    // Somebody removed it already, which is all that we want.
    return undefined;
  }
}

function isSameStart(text: string | undefined, own: Discovery): boolean {
  if (text === undefined) return false;
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found !== "object" || found === null) return false;
    return (
      "pid" in found && found.pid === own.pid && "startedAt" in found && found.startedAt === own.startedAt
    );
  } catch {
    // Not what we wrote, so not ours to remove.
    return false;
  }
}
