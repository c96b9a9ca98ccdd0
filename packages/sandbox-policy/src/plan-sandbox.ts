/**
 * Turns a policy into the arguments of bubblewrap. Pure: the caller has resolved every path and looked at what exists.
 *
 * 1. The root is read-only, or not there but for the system's programs; only the workspace, `/tmp` and the named roots
 *    can be written.
 * 2. A masked path shows nothing of what it holds: an empty folder in memory, or an empty file. A run can't open one
 *    by asking for a writable root in or above it: mounts go from the outer path to the inner one, and a root that
 *    lies within a masked path is refused, the workspace excepted (a data root may hold the workspace).
 * 3. A protected path can't be written, removed, renamed or made: it is a mount of its own, and so is each folder
 *    between it and the writable root, since a folder that is renamed would take the protection along.
 * 4. The run has its own PID namespace with a fresh `/proc`, so no other process's environment can be read. It has its
 *    own session and group, led by the namespace's first process: TERM sent to that group reaches the command and not
 *    the namespace, KILL ends both.
 * 5. It dies with its parent, which is the process that keeps this one execution, never the daemon.
 * 6. The network is shared, or one of its own with nothing but loopback; then the way out, if there is one, is the
 *    proxy's socket.
 */
import { BoxError } from "@sand/protocol";
import type { SandboxPolicy } from "./enclosed-policy.ts";
import { isBeneath } from "./path-order.ts";
import { planExtraMounts } from "./plan-mounts.ts";

export interface SandboxRun {
  readonly cwd: string;
  readonly argv: readonly string[];
  /** the open descriptor on which bubblewrap tells the pid of the namespace's first process; null: nobody asks */
  readonly infoFd: number | null;
  /** the open descriptor from which bubblewrap reads the filter of system calls */
  readonly seccompFd?: number;
  /** a terminal needs the session of whoever made it; the filter keeps it from being typed into */
  readonly keepSession?: boolean;
}

/** where a proxied command finds the proxy's socket */
export const egressFolder = "/dev/sand-egress";

const temporaryPath = "/tmp";

const namespaceArgs = [
  "--unshare-user",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--die-with-parent",
  // bubblewrap started by root would hand its capabilities on
  "--cap-drop",
  "ALL",
] as const;

/** what programs need to run at all, where nothing else is shown */
const systemRoots = [
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/usr",
  "/etc",
  "/opt",
  "/sys",
] as const;

/** The arguments after the program's own name. */
export function planSandbox(policy: SandboxPolicy, run: SandboxRun): readonly string[] {
  const mounts = planPolicyArgs(policy);
  return [...mounts, ...planRunArgs(run)];
}

/** The part that is the same for every run of a policy. */
export function planPolicyArgs(policy: SandboxPolicy): readonly string[] {
  for (const root of policy.writableRoots) refuseOpening(policy, root);
  const { network = { kind: "open" }, reads = "everything", temporaryRoot } = policy;
  return [
    ...namespaceArgs,
    ...(network.kind === "open" ? [] : ["--unshare-net"]),
    ...rootArgs(reads),
    ...["--dev", "/dev", "--proc", "/proc"],
    ...(temporaryRoot === null ? ["--tmpfs", temporaryPath] : ["--bind", temporaryRoot, temporaryPath]),
    ...planExtraMounts(policy, { temporaryPath, systemRoots }),
    ...(network.kind === "proxied" ? ["--ro-bind", network.socketFolder, egressFolder] : []),
    ...(reads === "listed" ? ["--remount-ro", "/"] : []),
  ];
}

/** The part that is each run's own. */
export function planRunArgs(run: SandboxRun): readonly string[] {
  return [
    ...(run.keepSession === true ? [] : ["--new-session"]),
    ...(run.infoFd === null ? [] : ["--info-fd", String(run.infoFd)]),
    ...(run.seccompFd === undefined ? [] : ["--seccomp", String(run.seccompFd)]),
    ...["--chdir", run.cwd, "--", ...run.argv],
  ];
}

function rootArgs(reads: "everything" | "listed"): readonly string[] {
  if (reads === "everything") return ["--ro-bind", "/", "/"];
  return systemRoots.flatMap((root) => ["--ro-bind-try", root, root]);
}

function refuseOpening(policy: SandboxPolicy, root: string): void {
  const closed = [
    ...policy.masked,
    ...(policy.protectedPaths ?? []).filter(({ how }) => how !== "kept"),
  ].find((candidate) => isBeneath(root, candidate.path));
  const isWorkspace = root === policy.workspaceRoot && root !== closed?.path;
  if (closed === undefined || isWorkspace) return;
  throw new BoxError("exec/invalid", `${root} can't be made writable: it belongs to a protected path`);
}
