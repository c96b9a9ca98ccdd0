/**
 * Puts a command into its executor's sandbox. What is the same from run to run is planned once and kept: the finds
 * change only with the workspace, and the arguments only with them.
 */
import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { BoxError, invariant } from "@sand/protocol";
import {
  createProtectedFinder,
  type ExecutorName,
  isBeneath,
  type MaskedPath,
  type ProtectedFinds,
  type ProtectedPath,
  planPolicyArgs,
  planRunArgs,
  resolveMasked,
  type SandboxNetwork,
  type SandboxPolicy,
  type SandboxRun,
  throughBridge,
} from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { canReach } from "../command-user.ts";
import { findKept } from "./find-kept.ts";
import { createMountPoints, type MountPoint, type MountPoints } from "./mount-points.ts";

/** What one run asks for beyond its executor's policy; it can open no more than the policy lets it. */
export interface EnclosureRequest {
  readonly writableRoots: readonly string[];
  readonly maskedPaths: readonly string[];
  readonly protectedPaths: readonly string[];
  readonly readOnlyWorkspace: boolean;
  readonly withoutNetwork: boolean;
}

export interface Encloser {
  readonly mountPoints: MountPoints;
  /** bubblewrap's arguments; what they need in the workspace is there from now until the run is over */
  enclose(runId: string, executor: ExecutorName, asked: EnclosureRequest, run: SandboxRun): readonly string[];
  /** What this executor may not write, remove or make, of all that lies where it may. */
  closedTo(executor: ExecutorName): readonly string[];
}

interface Planned {
  readonly args: readonly string[];
  readonly points: readonly MountPoint[];
  readonly network: SandboxNetwork | undefined;
}

const enclosers = new WeakMap<BoxPolicy["executors"], Encloser>();

/** One for each policy, however it is handed on: its caches and its mount points belong together. */
export function encloserOf(policy: BoxPolicy): Encloser {
  const known = enclosers.get(policy.executors);
  if (known !== undefined) return known;
  const encloser = createEncloser(policy);
  enclosers.set(policy.executors, encloser);
  return encloser;
}

function createEncloser(policy: BoxPolicy): Encloser {
  const finder = createProtectedFinder();
  const mountPoints = createMountPoints(join(policy.stateFolder, "mount-points.json"), policy.user);
  const planned = new WeakMap<ProtectedFinds, Map<string, Planned>>();

  function findIn(executor: ExecutorName, roots: readonly string[]): ProtectedFinds {
    const { rules } = policy.executors[executor];
    const writable = rules.workspace === "write" ? [policy.workspaceRoot] : [];
    return finder.find({
      roots: [...writable, ...rules.writablePaths, ...roots],
      home: policy.home,
      ignored: mountPoints.made,
      unsearched: policy.masked.map(({ path }) => path),
    });
  }

  function planFor(executor: ExecutorName, asked: EnclosureRequest, finds: ProtectedFinds): Planned {
    const known = planned.get(finds) ?? new Map<string, Planned>();
    planned.set(finds, known);
    const { keptPaths, protectedPaths } = policy.executors[executor].rules;
    const kept = findKept(keptPaths);
    const there = protectedPaths.map((path) => existsSync(path));
    const key = JSON.stringify([executor, asked, there, kept, extraMasks(policy, executor)]);
    // A path that is asked for may come and go, so such a run is planned afresh.
    const isKept = asked.maskedPaths.length === 0 && asked.protectedPaths.length === 0;
    const cached = isKept ? known.get(key) : undefined;
    if (cached !== undefined) return cached;
    const sandbox = toSandboxPolicy(policy, executor, asked, finds);
    const plan = { args: planPolicyArgs(sandbox), points: toMountPoints(sandbox), network: sandbox.network };
    if (isKept) known.set(key, plan);
    return plan;
  }

  return {
    mountPoints,
    enclose(runId, executor, asked, run) {
      const finds = findIn(executor, asked.writableRoots);
      const { args, points, network } = planFor(executor, asked, finds);
      mountPoints.hold(runId, points, finds.links);
      const argv = network?.kind === "proxied" ? throughBridge(run.argv, process.execPath) : run.argv;
      return [...args, ...planRunArgs({ ...run, argv })];
    },
    closedTo(executor) {
      const found = findIn(executor, []).paths.filter(({ how }) => how !== "kept");
      return [...policy.executors[executor].rules.protectedPaths, ...found.map(({ path }) => path)];
    },
  };
}

function toSandboxPolicy(
  policy: BoxPolicy,
  executor: ExecutorName,
  asked: EnclosureRequest,
  finds: ProtectedFinds,
): SandboxPolicy {
  const { rules } = policy.executors[executor];
  const close = (paths: readonly string[], rule: string): readonly ProtectedPath[] =>
    paths.map((path) => ({ path, how: existsSync(path) ? "read-only" : "absent-folder", rule }));
  const isReadable = asked.readOnlyWorkspace || rules.workspace === "read";
  const node = process.execPath;
  return {
    workspaceRoot: policy.workspaceRoot,
    workspaceAccess: isReadable ? "read" : "write",
    temporaryRoot: rules.temporary === "fresh" ? null : policy.temporaryRoot,
    writableRoots: [...rules.writablePaths, ...asked.writableRoots, ...finds.openedRoots],
    readOnlyRoots: [...rules.readOnlyPaths, ...(isBeneath(node, "/tmp") ? [node] : [])],
    reads: rules.reads,
    masked: [...policy.masked, ...extraMasks(policy, executor), ...resolveMasked(asked.maskedPaths)],
    protectedPaths: [
      ...finds.paths,
      ...close(rules.protectedPaths, "protectedPaths"),
      ...close(asked.protectedPaths, "the request"),
      ...findKept(rules.keptPaths),
    ],
    ...networkOf(policy, executor, asked),
  };
}

/** What this executor alone may not see, and what of the hidden paths came to be since the start. */
function extraMasks(policy: BoxPolicy, executor: ExecutorName): readonly MaskedPath[] {
  const known = new Set(policy.masked.map(({ path }) => path));
  const { user } = policy;
  // Asked with every run, and mostly nothing is there.
  const there = policy.executors[executor].rules.hiddenPaths.filter(
    (path) => !known.has(path) && lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  );
  return resolveMasked(there).filter(
    ({ path }) => !known.has(path) && (user === undefined || canReach(user, path)),
  );
}

function networkOf(
  policy: BoxPolicy,
  executor: ExecutorName,
  asked: EnclosureRequest,
): { readonly network: SandboxNetwork } {
  const { rules, egressFolder } = policy.executors[executor];
  if (asked.withoutNetwork || rules.network === "none") {
    if (policy.probe.works && !policy.probe.network.works)
      throw new BoxError(
        "exec/sandbox-unavailable",
        `the run may have no network: ${policy.probe.network.missing}`,
      );
    return { network: { kind: "none" } };
  }
  if (rules.network === "open") return { network: { kind: "open" } };
  invariant(egressFolder !== undefined, "a listed network has a proxy");
  return { network: { kind: "proxied", socketFolder: egressFolder } };
}

/** Where something that isn't there is kept from being made, and could be. */
function toMountPoints(sandbox: SandboxPolicy): readonly MountPoint[] {
  const writable = [
    ...(sandbox.workspaceAccess === "write" ? [sandbox.workspaceRoot] : []),
    ...sandbox.writableRoots,
  ];
  return (sandbox.protectedPaths ?? []).flatMap(({ path, how }): readonly MountPoint[] => {
    if (!writable.some((root) => isBeneath(path, root))) return [];
    if (how === "absent-folder") return [{ path, kind: "folder" }];
    return how === "absent-file" ? [{ path, kind: "file" }] : [];
  });
}
