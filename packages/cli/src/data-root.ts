/** Where a host keeps its state and where its agents work, by the rules that the host itself follows. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CommandFailure } from "./command-failure.ts";
import type { CliConfig } from "./config.ts";

const boxDataRoot = "/home/box/sand-data";
const boxWorkspace = "/workspace";

export function resolveDataRoot(config: CliConfig, chosen: string | undefined): string {
  if (chosen !== undefined) return resolve(chosen);
  if (config.dataRoot !== undefined) return resolve(config.dataRoot);
  if (existsSync(boxDataRoot)) return boxDataRoot;
  if (config.home === undefined) {
    throw new CommandFailure("usage", "there is no HOME to keep the data in", {
      hint: "give --data-root <folder>",
    });
  }
  return resolve(config.home, ".sand");
}

export function resolveWorkspace(config: CliConfig, currentFolder: string): string {
  if (config.workspace !== undefined) return resolve(config.workspace);
  return existsSync(boxWorkspace) ? boxWorkspace : resolve(currentFolder);
}
