/** The thread's first file where the sources run as they are; a bundle starts its own file with the role instead. */
import { runBlobRole } from "./run-blob-role.ts";

await runBlobRole();
