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
import { type CommandUser, canReach, runAsUser } from "./command-user.ts";
import type { DaemonConfig } from "./config.ts";

export interface BoxPolicy {
  readonly decision: SandboxDecision;
  readonly probe: SandboxProbe;
  /** whom commands and file operations run as; undefined is our own account */
  readonly user: CommandUser | undefined;
  readonly workspaceRoot: string;
  /** what enclosed commands see as `/tmp` */
  readonly temporaryRoot: string;
  readonly masked: readonly MaskedPath[];
  readonly commandEnv: Readonly<Record<string, string>>;
}

export async function openBoxPolicy(config: DaemonConfig): Promise<BoxPolicy> {
  mkdirSync(config.workspaceRoot, { recursive: true });
  const searchPath = config.commandEnv.PATH ?? "";
  const probe: SandboxProbe =
    config.sandbox === "off"
      ? { works: false, missing: "SAND_SANDBOX is off" }
      : await probeSandbox({ searchPath, ...probePlace(config) });
  const decision = decideSandbox(config.sandbox, probe);
  const own = [config.dataRoot, ...config.secretFiles];
  const credentials = decision.kind === "enclose" ? credentialPaths(config.commandEnv.HOME ?? "/root") : [];
  return {
    decision,
    probe,
    user: config.commandUser,
    workspaceRoot: realpathSync(config.workspaceRoot),
    temporaryRoot: openTemporaryRoot(config, decision),
    masked: resolveMasked([...own, ...credentials]).filter(({ path }) => isWithinReach(config, path)),
    commandEnv: config.commandEnv,
  };
}

/** Another account can't reach the data root, so for its enclosed commands the folder is in its own home. */
function openTemporaryRoot({ commandUser, dataRoot }: DaemonConfig, decision: SandboxDecision): string {
  const isElsewhere = commandUser !== undefined && decision.kind === "enclose";
  const path = join(isElsewhere ? commandUser.home : dataRoot, "tmp");
  // In a home it is made by whoever made the account: a folder of ours would be closed to it.
  if (!isElsewhere) mkdirSync(path, { recursive: true, mode: 0o700 });
  return realpathSync(path);
}

/** What the commands' account can't come to is closed by that already, and can't be covered by a mount of its own. */
function isWithinReach({ commandUser }: DaemonConfig, path: string): boolean {
  return commandUser === undefined || canReach(commandUser, path);
}

/** The canary has to run as commands do. */
function probePlace({ commandUser: user, dataRoot }: DaemonConfig) {
  if (user === undefined) return { scratchRoot: dataRoot };
  const wrap = (argv: readonly string[]): readonly string[] =>
    runAsUser(user, { argv, env: {}, cwd: "/" }).argv;
  // Not in /tmp: bubblewrap would make folders there that only the other account can remove.
  return { scratchRoot: "/var/tmp", wrap };
}
