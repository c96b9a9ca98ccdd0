/** What the host needs of the projections: their thread, how to ask it, and what it says. */
export { runProjectionRole } from "./run-projection-role.ts";
