/** A blob thread as a test build has it: the sources carry no failpoints unless somebody says so before they load. */
Object.assign(globalThis, { SAND_FAILPOINTS: true });
const { runBlobRole } = await import("../src/blobs/run-blob-role.ts");
await runBlobRole();
