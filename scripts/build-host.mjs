/** Builds the host's bundle: `dist/host-main.cjs`, and its test build with failpoints. */
import { buildNamed } from "./bundle/build-named.mjs";

await buildNamed(["host", "hostTest"]);
