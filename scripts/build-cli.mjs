/** Builds the command-line program: `dist/sand.cjs`, one executable file. */
import { buildNamed } from "./bundle/build-named.mjs";

await buildNamed(["cli"]);
