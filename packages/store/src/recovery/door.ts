/** The door of the thread that repairs: it loads nothing else of the store's. */
export { runRecoveryRole } from "./run-recovery-role.ts";
