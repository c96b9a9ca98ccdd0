/**
 * What every command and file operation of this daemon may touch: one place decides, both follow it.
 *
 * The data root, the token files and the usual places of credentials are closed. Where no sandbox encloses commands,
 * the data root and the token files are still closed to the file operations.
 */
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import {
  credentialPaths,
  decideSandbox,
  type MaskedPath,
  probeSandbox,
  resolveMasked,
  type SandboxDecision,
  type SandboxProbe,
} from "@sand/sandbox-policy";
import type { DaemonConfig } from "./config.ts";

export interface BoxPolicy {
  readonly decision: SandboxDecision;
  readonly probe: SandboxProbe;
  readonly workspaceRoot: string;
  /** what enclosed commands see as `/tmp` */
  readonly temporaryRoot: string;
  readonly masked: readonly MaskedPath[];
  readonly commandEnv: Readonly<Record<string, string>>;
}

export async function openBoxPolicy(config: DaemonConfig): Promise<BoxPolicy> {
  const temporaryRoot = join(config.dataRoot, "tmp");
  mkdirSync(temporaryRoot, { recursive: true, mode: 0o700 });
  mkdirSync(config.workspaceRoot, { recursive: true });
  const searchPath = config.commandEnv.PATH ?? "";
  const probe: SandboxProbe =
    config.sandbox === "off"
      ? { works: false, missing: "SAND_SANDBOX is off" }
      : await probeSandbox({ searchPath, scratchRoot: config.dataRoot });
  const decision = decideSandbox(config.sandbox, probe);
  const own = [config.dataRoot, ...config.secretFiles];
  const credentials = decision.kind === "enclose" ? credentialPaths(config.commandEnv.HOME ?? "/root") : [];
  return {
    decision,
    probe,
    workspaceRoot: realpathSync(config.workspaceRoot),
    temporaryRoot: realpathSync(temporaryRoot),
    masked: resolveMasked([...own, ...credentials]),
    commandEnv: config.commandEnv,
  };
}
