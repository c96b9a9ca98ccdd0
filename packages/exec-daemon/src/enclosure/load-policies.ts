/**
 * Reads what the administrator, the user and the repository say about commands, at the daemon's start.
 *
 * The first two are trusted, so a file of theirs that can't be understood ends the start: half a policy is none. A
 * repository's file is data that can only make things stricter; one that can't be understood is left out and said.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { BoxError } from "@sand/protocol";
import { type LayerName, type PolicyFile, type PolicyFiles, parsePolicyFile } from "@sand/sandbox-policy";

export interface PolicyPlaces {
  readonly administratorFile: string;
  readonly dataRoot: string;
  readonly workspaceRoot: string;
}

export interface LoadedPolicies {
  readonly files: PolicyFiles;
  readonly warnings: readonly string[];
}

const fileMaxBytes = 256 * 1024;

export function loadPolicies(places: PolicyPlaces): LoadedPolicies {
  const warnings: string[] = [];
  const files: Partial<Record<LayerName, PolicyFile>> = {};
  const take = (layer: LayerName, path: string): void => {
    const file = readPolicy(path);
    if (file !== undefined) files[layer] = file;
  };
  take("administrator", places.administratorFile);
  take("user", join(places.dataRoot, "policy.json"));
  try {
    take("repository", join(places.workspaceRoot, ".sand/policy.json"));
  } catch (error) {
    warnings.push(
      `the repository's policy is left out: ${error instanceof Error ? error.message : "unreadable"}`,
    );
  }
  return { files, warnings };
}

/** Undefined when there is none. */
function readPolicy(path: string): PolicyFile | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile() || stat.size > fileMaxBytes)
    throw new BoxError(
      "config/invalid",
      `${path} is no policy: a JSON file of at most ${fileMaxBytes} bytes`,
    );
  try {
    return parsePolicyFile(JSON.parse(readFileSync(path, "utf8")), path);
  } catch (error) {
    if (error instanceof BoxError) throw error;
    throw new BoxError("config/invalid", `${path} can't be read as JSON`, { cause: error });
  }
}
