/**
 * Where the host's program is: the bundle beside this one, or, when `sand` runs from its sources, the host's sources.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CommandFailure } from "../command-failure.ts";

export interface HostProgram {
  readonly path: string;
  readonly kind: "bundle" | "sources";
}

export function locateHost(programPath: string): HostProgram {
  const bundle = join(dirname(programPath), "host-main.cjs");
  if (existsSync(bundle)) return { path: bundle, kind: "bundle" };
  // packages/cli/src/main.ts and packages/host/src/main.ts
  const sources = join(dirname(programPath), "../../host/src/main.ts");
  if (basename(programPath).endsWith(".ts") && existsSync(sources)) return { path: sources, kind: "sources" };
  throw new CommandFailure("failed", `there is no host program beside ${programPath}`, {
    hint: "build it: pnpm build",
  });
}

/** Whether a command line is that of a host: what a pid must show before it is sent a signal. */
export function isHostCommandLine(words: readonly string[]): boolean {
  return words.some((word) => /(?:^|\/)host-main\.cjs$|(?:^|\/)host\/src\/main\.ts$/u.test(word));
}
