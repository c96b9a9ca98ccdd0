/**
 * Turns a request into what the keeper runs: the full argument list, a clean environment, the folder.
 *
 * A program with arguments is started through a shell's `exec`, because then a missing one is 127 and one that may
 * not be executed is 126, inside a sandbox as well as outside.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { BoxError } from "@sand/protocol";
import type { StartRequest } from "@sand/protocol/exec";
import { isBeneath, planSandbox, resolveMasked } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { runAsUser } from "../command-user.ts";
import { markerName } from "../ledger/execution-folder.ts";
import type { LaunchPlan } from "../ledger/records.ts";

/** the descriptor that the keeper gives to bubblewrap */
const infoFd = 3;

/** The last step, whatever the sandbox: the change to the account that commands have. */
export function planLaunch(policy: BoxPolicy, request: StartRequest): LaunchPlan {
  const launch = planEnclosed(policy, request);
  const { user } = policy;
  return user === undefined ? launch : { ...launch, ...runAsUser(user, launch), user };
}

function planEnclosed(policy: BoxPolicy, request: StartRequest): LaunchPlan {
  const { decision } = policy;
  if (decision.kind === "refuse") {
    throw new BoxError(
      "exec/sandbox-unavailable",
      `a sandbox is required and can't be set up: ${decision.missing}`,
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
  };
  if (decision.kind === "bare") return { ...common, argv: inner, sandboxed: false };
  const args = planSandbox(
    {
      workspaceRoot: policy.workspaceRoot,
      temporaryRoot: policy.temporaryRoot,
      writableRoots: (request.sandbox?.writableRoots ?? []).map(realRoot),
      readOnlyRoots: [],
      masked: [...policy.masked, ...resolveMasked(request.sandbox?.maskedPaths ?? [])],
    },
    // A terminal's shell controls its jobs as the leader of the terminal's own session.
    { cwd: cwd.inside, argv: inner, ...(request.tty ? { infoFd: null, keepSession: true } : { infoFd }) },
  );
  // bubblewrap itself starts where we are sure to be allowed to be; the command's folder is its own argument.
  return { ...common, argv: [decision.program, ...args], cwd: policy.workspaceRoot, sandboxed: true };
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

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Missing or out of reach: either way nothing can be started there.
    return false;
  }
}

function realRoot(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new BoxError("exec/invalid", `the writable root ${path} does not exist`, { cause: error });
  }
}
