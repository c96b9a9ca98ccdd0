/** The proofs' own door: they start whole worlds of processes, which no unit test wants to load. */
export { type FuzzOptions, runFuzz } from "../fuzz/run-fuzz.ts";
export { findBundles, type SandBundles } from "../processes/sand-bundles.ts";
export { createWorld, type SandWorld } from "../processes/sand-world.ts";
export { hasRadosgw, type Radosgw, startRadosgw } from "../processes/start-radosgw.ts";
export {
  archiveFailpoints,
  boxStoreFailpoints,
  daemonFailpoints,
  hostFailpoints,
  keeperFailpoints,
  projectionFailpoints,
} from "../sweep/failpoint-names.ts";
export { judgeMarkers, readMarkers } from "../upgrades/read-markers.ts";
export { type ChaosOptions, proveChaos } from "./chaos/prove-chaos.ts";
export { type ParallelExitsOptions, proveParallelExits } from "./chaos/prove-parallel-exits.ts";
export type { ProofResult } from "./proof-result.ts";
export { digestBundles, openProofState } from "./proof-state.ts";
export { type KillSweepOptions, type KillSweepResult, proveKillSweep } from "./prove-kill-sweep.ts";
export { type NonceProofOptions, proveNonce } from "./prove-nonce.ts";
export { proveSecrets, type SecretsProofOptions } from "./prove-secrets.ts";
export { proveStream, type StreamProofOptions } from "./prove-stream.ts";
export { proveUpgrades, type UpgradeProofOptions, upgradeDeaths } from "./prove-upgrades.ts";
