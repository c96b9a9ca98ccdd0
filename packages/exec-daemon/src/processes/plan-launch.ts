/**
 * Turns a request into what the keeper runs: the full argument list, a clean environment, the folder.
 *
 * A program with arguments is started through a shell's `exec`, because then a missing one is 127 and one that may
 * not be executed is 126, inside a sandbox as well as outside.
 */
import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { BoxError } from "@sand/protocol";
import type { StartRequest } from "@sand/protocol/exec";
import { type ExecutorName, isBeneath } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { runAsUser } from "../command-user.ts";
import { type EnclosureRequest, encloserOf } from "../enclosure/encloser.ts";
import { markerName } from "../ledger/execution-folder.ts";
import type { LaunchPlan } from "../ledger/records.ts";
import { isFolder } from "./is-folder.ts";

/** the descriptors that the keeper gives to bubblewrap, and the one that a shell opens where there is no keeper */
const infoFd = 3;
const keeperFilterFd = 4;
const ownFilterFd = 9;

export interface LaunchOptions {
  /** whose policy it is */
  readonly executor: ExecutorName;
  /** `keeper`: it opens `openFiles`; `itself`: whoever starts the argv does nothing but start it */
  readonly opener: "keeper" | "itself";
}

/** The last step, whatever the sandbox: the change to the account that commands have. */
export function planLaunch(
  policy: BoxPolicy,
  request: StartRequest,
  options: LaunchOptions = { executor: "shell", opener: "itself" },
): LaunchPlan {
  const launch = planEnclosed(policy, request, options);
  const { user, filterFile } = policy;
  const switched = user === undefined ? launch : { ...launch, ...runAsUser(user, launch), user };
  if (!launch.sandboxed || filterFile === undefined) return switched;
  if (options.opener === "keeper") return { ...switched, openFiles: [filterFile] };
  // Before the change of account, which may not read the file.
  const opening = ["/bin/sh", "-c", `exec ${ownFilterFd}<"$1"; shift; exec "$@"`, "sh", filterFile];
  return { ...switched, argv: [...opening, ...switched.argv] };
}

function planEnclosed(policy: BoxPolicy, request: StartRequest, options: LaunchOptions): LaunchPlan {
  const { decision } = policy;
  const { refusal, hash } = policy.executors[options.executor];
  if (refusal !== undefined || decision.kind === "refuse") {
    throw new BoxError(
      "exec/sandbox-unavailable",
      `a sandbox is required and can't be set up: ${refusal ?? "it doesn't work here"}`,
      {
        hint: "install what is missing, or start the daemon with SAND_SANDBOX=auto",
      },
    );
  }
  const cwd = resolveCwd(policy, request.cwd);
  const inner = innerArgv(request);
  const common = {
    env: commandEnv(policy, request),
    stdin: request.stdin,
    killMs: Number(request.killMs),
    cwd: cwd.outside,
    policyHash: hash,
  };
  if (decision.kind === "bare") return { ...common, argv: inner, sandboxed: false };
  const filterFd = options.opener === "keeper" ? keeperFilterFd : ownFilterFd;
  const args = encloserOf(policy).enclose(request.processId, options.executor, toAsked(request), {
    ...{ cwd: cwd.inside, argv: inner },
    // A terminal's shell controls its jobs as the leader of the terminal's own session.
    ...(request.tty ? { infoFd: null, keepSession: true } : { infoFd }),
    ...(policy.filterFile === undefined ? {} : { seccompFd: filterFd }),
  });
  // bubblewrap itself starts where we are sure to be allowed to be; the command's folder is its own argument.
  return { ...common, argv: [decision.program, ...args], cwd: policy.workspaceRoot, sandboxed: true };
}

function toAsked({ sandbox }: StartRequest): EnclosureRequest {
  return {
    writableRoots: (sandbox?.writableRoots ?? []).map(realRoot),
    maskedPaths: sandbox?.maskedPaths ?? [],
    protectedPaths: sandbox?.protectedPaths ?? [],
    readOnlyWorkspace: sandbox?.readOnlyWorkspace ?? false,
    withoutNetwork: sandbox?.withoutNetwork ?? false,
  };
}

function innerArgv(request: StartRequest): readonly string[] {
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
  switch (request.command.case) {
    case "shell":
      return [shell, "-c", request.command.value];
    case "argv":
      return ["/bin/sh", "-c", 'exec "$@"', "sh", ...request.command.value.args];
    case undefined:
      throw new BoxError("exec/invalid", "there is no command");
  }
}

function commandEnv(policy: BoxPolicy, request: StartRequest): Readonly<Record<string, string>> {
  const display = request.display === "" ? {} : { DISPLAY: request.display };
  return { ...policy.commandEnv, ...display, ...request.env, [markerName]: request.processId };
}

interface Folder {
  /** as this process finds it */
  readonly outside: string;
  /** as the command will find it */
  readonly inside: string;
}

function resolveCwd(policy: BoxPolicy, asked: string): Folder {
  const inside = resolve(policy.workspaceRoot, asked);
  const isTemporary =
    policy.decision.kind === "enclose" &&
    isBeneath(inside, "/tmp") &&
    !isBeneath(inside, policy.workspaceRoot);
  const outside = isTemporary ? resolve(policy.temporaryRoot, `.${inside.slice("/tmp".length)}`) : inside;
  if (!isFolder(outside)) throw new BoxError("exec/invalid", `the folder ${inside} does not exist`);
  return { outside, inside };
}

function realRoot(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new BoxError("exec/invalid", `the writable root ${path} does not exist`, { cause: error });
  }
}
