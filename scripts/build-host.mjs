/** Builds the host's bundle: `dist/host-main.cjs` with its code cache, and its test build with failpoints. */
import { buildNamed } from "./bundle/build-named.mjs";
import { outputs } from "./bundle/outputs.mjs";
import { placeCodeCache } from "./bundle/place-code-cache.mjs";

await buildNamed(["host", "hostTest"]);
await placeCodeCache(outputs.host.outfile);
