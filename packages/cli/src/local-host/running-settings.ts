/**
 * What a running host was started with, so that its replacement goes on in the same folder and under the same fence.
 * From its first environment, which holds no secrets: those reached it through a pipe.
 */
import { readFileSync } from "node:fs";

export interface RunningSettings {
  readonly workspace?: string;
  readonly sandbox?: string;
}

export function readRunningSettings(pid: number): RunningSettings {
  try {
    return parseSettings(readFileSync(`/proc/${pid}/environ`, "utf8"));
  } catch {
    // Not this system's way, or gone: the settings of this shell count then.
    return {};
  }
}

export function parseSettings(environ: string): RunningSettings {
  const values = new Map(
    environ.split("\0").map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    }),
  );
  const workspace = values.get("SAND_BOX_WORKSPACE_ROOT");
  const sandbox = values.get("SAND_SANDBOX");
  return {
    ...(workspace === undefined || workspace === "" ? {} : { workspace }),
    ...(sandbox === undefined || sandbox === "" ? {} : { sandbox }),
  };
}
