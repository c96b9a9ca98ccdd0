/** The door of the fault suites: power cuts and failing disks, for proofs and for samples in tests. */
export { whyNoDiskShim } from "./compile-disk-shim.ts";
export { type DiskFaultsOptions, proveDiskFaults } from "./prove-disk-faults.ts";
export { type FileStatesOptions, proveFileStates } from "./prove-file-states.ts";
export type { Weakness } from "./weaken-host.ts";
