/**
 * Builds the execution daemon's bundle: `dist/box-exec-daemon/main.cjs` with its code cache, and its test build with
 * failpoints.
 */
import { buildNamed, placeRipgrep } from "./bundle/build-named.mjs";
import { outputs } from "./bundle/outputs.mjs";
import { placeCodeCache } from "./bundle/place-code-cache.mjs";

await buildNamed(["daemon", "daemonTest"]);
await placeRipgrep(outputs.daemon.outfile);
await placeRipgrep(outputs.daemonTest.outfile);
await placeCodeCache(outputs.daemon.outfile);
