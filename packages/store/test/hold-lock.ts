/** Takes the host's lock of a data root and holds it until it is killed. */
import { acquireHostLock } from "../src/index.ts";

const lock = acquireHostLock({ root: process.argv[2] ?? "", pid: process.pid });
process.stdout.write("held\n");
// A handle that nothing refers to would be collected, and its lock with it.
setInterval(() => lock.outcome, 60_000);
