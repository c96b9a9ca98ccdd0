/**
 * What every command and file operation of this daemon may touch: one place decides, both follow it.
 *
 * The data root, the token files and the usual places of credentials are closed. Where no sandbox encloses commands,
 * the data root and the token files are still closed to the file operations. What administrator, user and repository
 * say comes on top, for each executor. All of it is plain data, for it is sent to other processes.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";
import {
  compileFilter,
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
import { type ExecutorPolicies, planExecutors } from "./enclosure/executor-policy.ts";
import { loadPolicies } from "./enclosure/load-policies.ts";

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
  /** where the account of commands is at home */
  readonly home: string;
  /** ours alone: the filter, the journal of mount points, the proxies' sockets */
  readonly stateFolder: string;
  /** the compiled filter of system calls; undefined: there is none here */
  readonly filterFile: string | undefined;
  readonly executors: ExecutorPolicies;
  readonly warnings: readonly string[];
}

const administratorFile = "/etc/sand/policy.json";

export async function openBoxPolicy(config: DaemonConfig): Promise<BoxPolicy> {
  mkdirSync(config.workspaceRoot, { recursive: true });
  const workspaceRoot = realpathSync(config.workspaceRoot);
  const stateFolder = join(config.dataRoot, "sandbox");
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  const filterFile = writeFilter(stateFolder);
  const probe = await probeHere(config, filterFile);
  const decision = decideSandbox(config.sandbox, probe);
  const home = config.commandEnv.HOME ?? "/root";
  const loaded = loadPolicies({ administratorFile, dataRoot: config.dataRoot, workspaceRoot });
  const credentials = decision.kind === "enclose" ? credentialPaths(home) : [];
  const hiddenPaths = [config.dataRoot, ...config.secretFiles, ...credentials];
  const executors = planExecutors({
    files: { ...loaded.files, hardcoded: { hiddenPaths } },
    ...{ decision, probe, workspaceRoot, home, egressRoot: egressRootOf(config, stateFolder) },
  });
  return {
    ...{ decision, probe, workspaceRoot, home, stateFolder, executors },
    user: config.commandUser,
    temporaryRoot: openTemporaryRoot(config, decision),
    masked: resolveMasked(executors.files.rules.hiddenPaths).filter(({ path }) =>
      isWithinReach(config, path),
    ),
    commandEnv: config.commandEnv,
    filterFile: probe.works && probe.filter.works ? filterFile : undefined,
    warnings: loaded.warnings,
  };
}

async function probeHere(config: DaemonConfig, filterFile: string): Promise<SandboxProbe> {
  if (config.sandbox === "off") return { works: false, missing: "SAND_SANDBOX is off" };
  return await probeSandbox({
    searchPath: config.commandEnv.PATH ?? "",
    filterFile,
    ...probePlace(config),
  });
}

/** Named by its content: a run that was planned with one filter never gets another. */
function writeFilter(stateFolder: string): string {
  const filter = compileFilter(process.arch === "arm64" ? "arm64" : "x64");
  const name = createHash("sha256").update(filter).digest("hex").slice(0, 12);
  const path = join(stateFolder, `filter-${name}.bpf`);
  const isThere = existsSync(path) && readFileSync(path).equals(filter);
  if (!isThere) writeFileAtomicSync(path, filter);
  return path;
}

/** Another account can't enter the data root, so for its commands the sockets are in a folder of ours elsewhere. */
function egressRootOf({ commandUser, dataRoot }: DaemonConfig, stateFolder: string): string {
  const key = createHash("sha256").update(dataRoot).digest("hex").slice(0, 12);
  return commandUser === undefined ? join(stateFolder, "egress") : `/var/tmp/sand-egress-${key}`;
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
