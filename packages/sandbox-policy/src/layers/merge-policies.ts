/**
 * One policy from all that have a say, with the reason for each part of it. Pure.
 *
 * 1. The defaults are the loosest, and every layer can only make things stricter, in the order of trust.
 * 2. Lists that forbid (hidden, protected, kept, denied) add up.
 * 3. Lists that allow are different. Extra paths come from the administrator and the user, and writable ones from the
 *    request for a run; what lies within a hidden or protected path of anybody stays closed. A repository is data that
 *    agents write, so it allows nothing.
 * 4. The first layer that limits the network names its domains; later ones can only choose among them.
 */
import { isCovered } from "../network/match-host.ts";
import {
  type ExecutorName,
  type LayerName,
  layerNames,
  networkKinds,
  type PolicyFile,
  type PolicyLayer,
  readBoundaries,
  temporaryKinds,
  workspaceAccesses,
} from "./policy-layer.ts";

export type PolicyFiles = Readonly<Partial<Record<LayerName, PolicyFile>>>;

/** why a part of a policy is as it is; `refused` was asked for and not granted */
export interface PolicyReason {
  readonly rule: keyof PolicyLayer;
  readonly value: string;
  readonly layer: LayerName;
  readonly outcome: "applied" | "refused";
  readonly because: string;
}

export interface MergedPolicy {
  readonly workspace: (typeof workspaceAccesses)[number];
  readonly reads: (typeof readBoundaries)[number];
  readonly temporary: (typeof temporaryKinds)[number];
  readonly network: (typeof networkKinds)[number];
  readonly readOnlyPaths: readonly string[];
  readonly writablePaths: readonly string[];
  readonly hiddenPaths: readonly string[];
  readonly protectedPaths: readonly string[];
  readonly keptPaths: readonly string[];
  readonly domains: readonly string[];
  readonly deniedDomains: readonly string[];
  readonly privateHosts: readonly string[];
  readonly reasons: readonly PolicyReason[];
}

const loosest: MergedPolicy = {
  ...{ workspace: "write", reads: "everything", temporary: "kept", network: "open" },
  ...{ readOnlyPaths: [], writablePaths: [], hiddenPaths: [], protectedPaths: [], keptPaths: [] },
  ...{ domains: [], deniedDomains: [], privateHosts: [], reasons: [] },
};

const scales = {
  workspace: workspaceAccesses,
  reads: readBoundaries,
  temporary: temporaryKinds,
  network: networkKinds,
} as const;

const adding = ["hiddenPaths", "protectedPaths", "keptPaths", "deniedDomains"] as const;

/** who may open something that is closed by default */
const allowing = {
  readOnlyPaths: ["hardcoded", "administrator", "user"],
  writablePaths: ["hardcoded", "administrator", "user", "request"],
  privateHosts: ["hardcoded", "administrator", "user"],
} as const satisfies Readonly<Partial<Record<keyof PolicyLayer, readonly LayerName[]>>>;

export function mergePolicies(files: PolicyFiles, executor: ExecutorName): MergedPolicy {
  let merged = loosest;
  for (const name of layerNames) {
    const { executors, ...common } = files[name] ?? {};
    for (const layer of [common, executors?.[executor]]) {
      if (layer !== undefined) merged = applyLayer(merged, name, layer);
    }
  }
  return merged;
}

function applyLayer(policy: MergedPolicy, layer: LayerName, asked: PolicyLayer): MergedPolicy {
  const reasons: PolicyReason[] = [...policy.reasons];
  const say = (rule: keyof PolicyLayer, value: string, refusal?: string): void => {
    const outcome = refusal === undefined ? "applied" : "refused";
    reasons.push({ rule, value, layer, outcome, because: refusal ?? `the ${layer} policy says so` });
  };
  const pick = <T extends string>(rule: keyof typeof scales, scale: readonly T[], now: T, next?: T): T => {
    if (next === undefined) return now;
    const isLooser = scale.indexOf(next) < scale.indexOf(now);
    say(rule, next, isLooser ? `it is ${now} by a layer that is trusted more` : undefined);
    return isLooser ? now : next;
  };
  const join = (rule: (typeof adding)[number] | keyof typeof allowing): readonly string[] => {
    const may =
      rule in allowing ? (allowing[rule as keyof typeof allowing] as readonly LayerName[]) : layerNames;
    const wanted = asked[rule] ?? [];
    const refusal = may.includes(layer) ? undefined : `a ${layer} policy opens nothing`;
    for (const value of wanted) say(rule, value, refusal);
    return refusal === undefined ? unique([...policy[rule], ...wanted]) : policy[rule];
  };
  return {
    workspace: pick("workspace", workspaceAccesses, policy.workspace, asked.workspace),
    reads: pick("reads", readBoundaries, policy.reads, asked.reads),
    temporary: pick("temporary", temporaryKinds, policy.temporary, asked.temporary),
    network: pick("network", networkKinds, policy.network, asked.network),
    domains: pickDomains(policy, asked, say),
    ...{ readOnlyPaths: join("readOnlyPaths"), writablePaths: join("writablePaths") },
    ...{ hiddenPaths: join("hiddenPaths"), protectedPaths: join("protectedPaths") },
    ...{ keptPaths: join("keptPaths"), deniedDomains: join("deniedDomains") },
    privateHosts: join("privateHosts"),
    reasons,
  };
}

type Say = (rule: keyof PolicyLayer, value: string, refusal?: string) => void;

function pickDomains(policy: MergedPolicy, asked: PolicyLayer, say: Say): readonly string[] {
  const wanted = asked.domains;
  if (wanted === undefined) return policy.domains;
  if (policy.network === "open") {
    for (const domain of wanted) say("domains", domain);
    return unique(wanted);
  }
  return wanted.filter((domain) => {
    const fits = isCovered(domain, policy.domains);
    say("domains", domain, fits ? undefined : "a layer that is trusted more doesn't name it");
    return fits;
  });
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];
