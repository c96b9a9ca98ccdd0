/**
 * What one executor's commands may do, once every layer was heard and every path resolved. Plain data: it travels to
 * other processes, and its digest is recorded with each run.
 */
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type ExecutorName,
  executorNames,
  hashPolicy,
  type MergedPolicy,
  mergePolicies,
  type PolicyFiles,
  type SandboxDecision,
  type SandboxProbe,
} from "@sand/sandbox-policy";

export interface ExecutorPolicy {
  readonly rules: MergedPolicy;
  readonly hash: string;
  /** the folder with the socket of the proxy that dials for it; undefined: no listed network */
  readonly egressFolder: string | undefined;
  /** why nothing of this executor may run; undefined: it may */
  readonly refusal: string | undefined;
}

export type ExecutorPolicies = Readonly<Record<ExecutorName, ExecutorPolicy>>;

export interface ExecutorFacts {
  readonly files: PolicyFiles;
  readonly decision: SandboxDecision;
  readonly probe: SandboxProbe;
  readonly workspaceRoot: string;
  readonly home: string;
  readonly egressRoot: string;
}

export function planExecutors(facts: ExecutorFacts): ExecutorPolicies {
  const plan = (name: ExecutorName): ExecutorPolicy => {
    const rules = resolvePaths(mergePolicies(facts.files, name), facts);
    const hash = hashPolicy({ ...rules, reasons: undefined, decision: facts.decision.kind });
    return {
      rules,
      hash,
      egressFolder: rules.network === "listed" ? join(facts.egressRoot, networkKey(rules)) : undefined,
      refusal: findRefusal(rules, facts),
    };
  };
  const [shell, files, mcp, computer] = executorNames.map(plan);
  if (shell === undefined || files === undefined || mcp === undefined || computer === undefined)
    throw new Error("every executor has a policy");
  return { shell, files, mcp, computer };
}

/** Executors with the same rules share one proxy. */
function networkKey({ domains, deniedDomains, privateHosts }: MergedPolicy): string {
  const rules = hashPolicy({ domains, deniedDomains, privateHosts });
  return createHash("sha256").update(rules).digest("hex").slice(0, 12);
}

function resolvePaths(rules: MergedPolicy, { workspaceRoot, home }: ExecutorFacts): MergedPolicy {
  const place = (path: string): string =>
    path.startsWith("~/") ? join(home, path.slice(2)) : resolve(workspaceRoot, path);
  const real = (path: string): string => (existsSync(place(path)) ? realpathSync(place(path)) : place(path));
  const existing = (paths: readonly string[]): readonly string[] =>
    paths.filter((path) => existsSync(place(path))).map(real);
  return {
    ...rules,
    readOnlyPaths: existing(rules.readOnlyPaths),
    writablePaths: existing(rules.writablePaths),
    hiddenPaths: rules.hiddenPaths.map(real),
    protectedPaths: rules.protectedPaths.map(real),
    keptPaths: rules.keptPaths.map(real),
  };
}

/**
 * A rule that somebody wrote down is required, whatever the setting: a command that was told to have no network must
 * not get one because a piece is missing here. Only `SAND_SANDBOX=off` gives all of it up.
 */
function findRefusal(rules: MergedPolicy, { decision, probe }: ExecutorFacts): string | undefined {
  if (decision.kind === "refuse") return decision.missing;
  if (!probe.works) {
    const written = rules.reasons.find(
      ({ layer, outcome }) => layer !== "hardcoded" && outcome === "applied",
    );
    const isOff = decision.kind === "bare" && decision.reason === "SAND_SANDBOX is off";
    return written === undefined || isOff
      ? undefined
      : `the ${written.layer} policy has a rule about ${written.rule}, and ${probe.missing}`;
  }
  const needsNetwork = decision.kind === "enclose" && rules.network !== "open";
  return needsNetwork && !probe.network.works
    ? `the policy's network is ${rules.network}, and ${probe.network.missing}`
    : undefined;
}
