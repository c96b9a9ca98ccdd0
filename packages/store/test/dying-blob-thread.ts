/** A blob thread that ends at a random moment, whatever it is doing then. */
import { runBlobRole } from "../src/blobs/run-blob-role.ts";

setTimeout(() => process.exit(1), Math.random() * 400);
await runBlobRole();
