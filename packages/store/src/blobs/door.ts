/** The door of blob threads: they load nothing else of the store's. */
export { runBlobRole } from "./run-blob-role.ts";
