/** Where the built programs lie, and whether they are there. */
import { existsSync } from "node:fs";
import { join } from "node:path";

export interface SandBundles {
  readonly host: string;
  readonly daemon: string;
}

const repositoryRoot = join(import.meta.dirname, "../../../..");

/** what is shipped, or the same source with failpoints */
export function findBundles(kind: "shipped" | "test"): SandBundles {
  const dist = join(repositoryRoot, kind === "shipped" ? "dist" : "dist/test");
  const bundles = { host: join(dist, "host-main.cjs"), daemon: join(dist, "box-exec-daemon/main.cjs") };
  for (const path of [bundles.host, bundles.daemon]) {
    if (!existsSync(path)) throw new Error(`${path} is missing: run \`pnpm build\` first`);
  }
  return bundles;
}

/** Node runs the scripted model's source as it is. */
export const scriptedModelMain = join(import.meta.dirname, "../model-server/main.ts");
