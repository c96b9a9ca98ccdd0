/**
 * What no command may read, whoever it belongs to: the places where credentials usually lie, and sockets that hand out
 * the machine. The data root and the token files are added by the daemon, which knows where they are.
 */
import { lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { MaskedPath } from "./enclosed-policy.ts";

const underHome = [
  ".aws",
  ".azure",
  ".claude",
  ".codex",
  ".config/gcloud",
  ".config/gh",
  ".docker/config.json",
  ".git-credentials",
  ".gnupg",
  ".kube",
  ".netrc",
  ".sand",
  ".ssh",
] as const;

const elsewhere = [
  "/run/containerd",
  "/run/docker.sock",
  "/run/grok-bot",
  "/run/podman",
  "/run/secrets",
  "/var/run/docker.sock",
] as const;

export function credentialPaths(home: string): readonly string[] {
  return [...underHome.map((path) => join(home, path)), ...elsewhere];
}

/** The existing ones of `paths`, resolved through links, each once: bubblewrap can mask only what is there. */
export function resolveMasked(paths: readonly string[]): readonly MaskedPath[] {
  const found = new Map<string, MaskedPath>();
  for (const candidate of paths) {
    const mask = resolveOne(candidate);
    if (mask !== undefined) found.set(mask.path, mask);
  }
  return [...found.values()];
}

function resolveOne(candidate: string): MaskedPath | undefined {
  try {
    const path = realpathSync(candidate);
    return { path, kind: lstatSync(path).isDirectory() ? "folder" : "file" };
  } catch {
    // Nothing is there, or nobody like us can reach it: then a command can't either.
    return undefined;
  }
}
