/** What is built, from which entry, to which file: the one list that the build scripts share. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const repositoryRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const daemonBanner =
  "// Reconstructed loopback box exec-daemon; Connect/protobuf transport, no desktop local-exec dependency.";

export const outputs = {
  host: {
    entry: "packages/host/src/main.ts",
    outfile: "dist/host-main.cjs",
    failpoints: false,
    cached: true,
  },
  hostTest: {
    entry: "packages/host/src/main.ts",
    outfile: "dist/test/host-main.cjs",
    failpoints: true,
    cached: true,
  },
  daemon: {
    entry: "packages/exec-daemon/src/main.ts",
    outfile: "dist/box-exec-daemon/main.cjs",
    banner: daemonBanner,
    failpoints: false,
    cached: true,
  },
  daemonTest: {
    entry: "packages/exec-daemon/src/main.ts",
    outfile: "dist/test/box-exec-daemon/main.cjs",
    banner: daemonBanner,
    failpoints: true,
    cached: true,
  },
  cli: {
    entry: "packages/cli/src/main.ts",
    outfile: "dist/sand.cjs",
    banner: "#!/usr/bin/env node",
    failpoints: false,
    executable: true,
  },
};
