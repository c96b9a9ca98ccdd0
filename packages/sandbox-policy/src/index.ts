export type { SandboxDecision, SandboxMode, SandboxProbe } from "./decide-sandbox.ts";
export { decideSandbox, sandboxModes } from "./decide-sandbox.ts";
export { credentialPaths, resolveMasked } from "./masked-paths.ts";
export { isBeneath } from "./path-order.ts";
export type { MaskedPath, SandboxPolicy, SandboxRun } from "./plan-sandbox.ts";
export { planSandbox } from "./plan-sandbox.ts";
export type { ProbeOptions } from "./probe-sandbox.ts";
export { probeSandbox } from "./probe-sandbox.ts";
