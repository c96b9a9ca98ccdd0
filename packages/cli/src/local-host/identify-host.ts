/**
 * Which process the host of a data root is, for sure enough to signal it: its health answers under that pid, or, when
 * it hangs, its command line is a host's.
 */
import { readFileSync } from "node:fs";
import { type ProcessIdentity, readProcessIdentity } from "@sand/node-kit";
import { readDiscovery } from "../gateway/find-gateway.ts";
import { findLiveHost } from "./await-host.ts";
import { isHostCommandLine } from "./locate-programs.ts";

export type HostIdentity =
  | { readonly kind: "host"; readonly identity: ProcessIdentity; readonly answers: boolean }
  | { readonly kind: "none" }
  /** a discovery file names a pid that is no host: a killed host's leftover */
  | { readonly kind: "stale"; readonly pid: number };

export async function identifyHost(dataRoot: string): Promise<HostIdentity> {
  const pid = readDiscovery(dataRoot)?.pid;
  if (pid === undefined) return { kind: "none" };
  const identity = readProcessIdentity(pid);
  if (identity === undefined) return { kind: "stale", pid };
  if ((await findLiveHost(dataRoot)) !== undefined) return { kind: "host", identity, answers: true };
  return isHostCommandLine(readCommandLine(pid))
    ? { kind: "host", identity, answers: false }
    : { kind: "stale", pid };
}

function readCommandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    // Gone since, or another user's: not ours to signal either way.
    return [];
  }
}
