/** The door of the thread of projections: what the host's own thread needs of them is in the package's main one. */
export { runProjectionRole } from "./run-projection-role.ts";
