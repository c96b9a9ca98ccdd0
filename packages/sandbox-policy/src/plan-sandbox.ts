/**
 * Turns a policy into the arguments of bubblewrap. Pure: the caller has resolved every path and looked at what exists.
 *
 * 1. The root is read-only; only the workspace, `/tmp` and the named roots can be written.
 * 2. A masked path shows nothing of what it holds: an empty folder in memory, or an empty file. A run can't open one
 *    by asking for a writable root in or above it: mounts go from the outer path to the inner one, and a root that
 *    lies within a masked path is refused, the workspace excepted (a data root may hold the workspace).
 * 3. The run has its own PID namespace with a fresh `/proc`, so no other process's environment can be read. It has its
 *    own session and group, led by the namespace's first process: TERM sent to that group reaches the command and not
 *    the namespace, KILL ends both.
 * 4. It dies with its parent, which is the process that keeps this one execution, never the daemon.
 * 5. The network is shared: the policy of it isn't built yet, and `Capabilities` says so.
 */
import { BoxError } from "@sand/protocol";
import { compareByDepth, isBeneath } from "./path-order.ts";

export interface MaskedPath {
  readonly path: string;
  readonly kind: "folder" | "file";
}

export interface SandboxPolicy {
  /** the folder that every command shares */
  readonly workspaceRoot: string;
  /** the folder that commands see as `/tmp`: kept from run to run, apart from the machine's own */
  readonly temporaryRoot: string;
  readonly writableRoots: readonly string[];
  /** shown although they lie where nothing is shown, in `/tmp` for instance */
  readonly readOnlyRoots: readonly string[];
  readonly masked: readonly MaskedPath[];
}

export interface SandboxRun {
  readonly cwd: string;
  readonly argv: readonly string[];
  /** the open descriptor on which bubblewrap tells the pid of the namespace's first process; null: nobody asks */
  readonly infoFd: number | null;
}

interface Mount {
  readonly path: string;
  readonly args: readonly string[];
}

const temporaryPath = "/tmp";

const namespaceArgs = [
  "--unshare-user",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--die-with-parent",
  "--new-session",
  // bubblewrap started by root would hand its capabilities on
  "--cap-drop",
  "ALL",
] as const;

/** The arguments after the program's own name. */
export function planSandbox(policy: SandboxPolicy, run: SandboxRun): readonly string[] {
  return [
    ...namespaceArgs,
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...["--bind", policy.temporaryRoot, temporaryPath],
    ...planMounts(policy).flatMap((mount) => mount.args),
    ...(run.infoFd === null ? [] : ["--info-fd", String(run.infoFd)]),
    ...["--chdir", run.cwd, "--", ...run.argv],
  ];
}

function planMounts(policy: SandboxPolicy): readonly Mount[] {
  const roots = new Set([policy.workspaceRoot, ...policy.writableRoots]);
  roots.delete(temporaryPath);
  for (const root of roots) refuseOpening(policy, root);
  const readable = policy.readOnlyRoots.map((path): Mount => ({ path, args: ["--ro-bind", path, path] }));
  const writable = [...roots].map((path): Mount => ({ path, args: ["--bind", path, path] }));
  const masks = policy.masked
    .filter((mask) => isVisible(mask.path, roots))
    .map((mask): Mount => ({ path: mask.path, args: maskArgs(mask) }));
  // A mask comes after a root at the same path.
  return [...readable, ...writable, ...masks].sort((a, b) => compareByDepth(a.path, b.path));
}

function refuseOpening(policy: SandboxPolicy, root: string): void {
  const mask = policy.masked.find((candidate) => isBeneath(root, candidate.path));
  const isWorkspace = root === policy.workspaceRoot && root !== mask?.path;
  if (mask === undefined || isWorkspace) return;
  throw new BoxError("exec/invalid", `${root} can't be made writable: it belongs to a protected path`);
}

/** What lies in the machine's own `/tmp` isn't shown at all, so a mask there would only leave an empty folder behind. */
function isVisible(path: string, roots: ReadonlySet<string>): boolean {
  if (isBeneath(path, temporaryPath)) return [...roots].some((root) => isBeneath(path, root));
  return !["/proc", "/dev"].some((fresh) => isBeneath(path, fresh));
}

function maskArgs(mask: MaskedPath): readonly string[] {
  return mask.kind === "folder" ? ["--tmpfs", mask.path] : ["--ro-bind", "/dev/null", mask.path];
}
