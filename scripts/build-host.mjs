/**
 * Builds the host's bundle: `dist/host-main.cjs`, with its code cache and its addons beside it, and its test build with
 * failpoints.
 */
import { dirname, join } from "node:path";
import { buildNamed } from "./bundle/build-named.mjs";
import { placeNatives } from "./bundle/embedded-natives.mjs";
import { outputs, repositoryRoot } from "./bundle/outputs.mjs";
import { placeCodeCache } from "./bundle/place-code-cache.mjs";

await buildNamed(["host", "hostTest"]);
await placeNatives(repositoryRoot, join(repositoryRoot, dirname(outputs.host.outfile)));
await placeCodeCache(outputs.host.outfile);
