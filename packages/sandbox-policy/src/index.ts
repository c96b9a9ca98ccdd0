export type { CommandAdvice } from "./commands/advise-command.ts";
export { adviseCommand } from "./commands/advise-command.ts";
export type { SandboxDecision, SandboxMode, SandboxProbe, Technique } from "./decide-sandbox.ts";
export { decideSandbox, sandboxModes } from "./decide-sandbox.ts";
export type { MergedPolicy, PolicyFiles, PolicyReason } from "./layers/merge-policies.ts";
export { mergePolicies } from "./layers/merge-policies.ts";
export { hashPolicy } from "./layers/policy-hash.ts";
export type { ExecutorName, LayerName, PolicyFile, PolicyLayer } from "./layers/policy-layer.ts";
export { executorNames, parsePolicyFile } from "./layers/policy-layer.ts";
export { credentialPaths, resolveMasked } from "./masked-paths.ts";
export { egressSocketName, throughBridge } from "./network/bridge.ts";
export type { NetworkRules } from "./network/decide-connection.ts";
export { decideAddress, decideHost } from "./network/decide-connection.ts";
export { isBeneath } from "./path-order.ts";
export type {
  MaskedPath,
  ProtectedPath,
  SandboxNetwork,
  SandboxPolicy,
  SandboxRun,
} from "./plan-sandbox.ts";
export { planPolicyArgs, planRunArgs, planSandbox } from "./plan-sandbox.ts";
export type { ProbeOptions } from "./probe-sandbox.ts";
export { probeSandbox } from "./probe-sandbox.ts";
export type { ProtectedFinder, ProtectedFinds } from "./protect/find-protected.ts";
export { createProtectedFinder } from "./protect/find-protected.ts";
export { compileFilter } from "./seccomp/compile-filter.ts";
export { describeContainerProfile } from "./seccomp/container-profile.ts";
