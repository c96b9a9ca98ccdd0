/**
 * Runs git over a folder as a command would run it. A repository is written by agents, so nothing that it configures
 * is asked to run for us where git lets us say so; what still runs (a clean filter) runs within the commands' fence.
 */
import { BoxError } from "@sand/protocol";
import { factsAt } from "./descriptor.ts";
import { fileLimits } from "./file-limits.ts";
import type { AskedPath } from "./raw-path.ts";
import { type ProgramDeps, runProgram } from "./run-program.ts";
import { atPlace } from "./walk-path.ts";

export interface GitRequest {
  readonly at: AskedPath;
  readonly args: readonly string[];
  readonly outputMaxBytes: number;
}

export interface GitAnswer {
  readonly code: number | null;
  readonly output: Uint8Array;
  readonly complaint: string;
  readonly truncated: boolean;
}

const quietConfig = {
  "safe.directory": "*",
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
  "core.quotePath": "false",
  "diff.external": "",
  "protocol.allow": "never",
} as const;

export async function runGit(deps: ProgramDeps, request: GitRequest): Promise<GitAnswer> {
  const { fence } = deps;
  const cwd = await atPlace(
    fence,
    fence.locate(request.at),
    { access: "read", follow: true },
    async (place) => {
      if (!factsAt(place.folder, place.name).isDirectory())
        throw new BoxError("file/not-a-directory", "this is no folder");
      return place.path;
    },
  );
  const config = Object.entries(quietConfig).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const pieces: Buffer[] = [];
  let left = request.outputMaxBytes;
  const end = await runProgram(deps, {
    program: {
      argv: ["git", "--no-pager", "--literal-pathspecs", ...config, ...request.args],
      cwd,
      env: {
        ...{ GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0", GIT_CONFIG_NOSYSTEM: "1" },
        ...{ GIT_CONFIG_GLOBAL: "/dev/null", HOME: "/nonexistent", GIT_ATTR_NOSYSTEM: "1" },
      },
    },
    deadlineMs: fileLimits.gitMaxMs,
    onOutput(piece) {
      pieces.push(piece.subarray(0, left));
      left -= piece.length;
      return left >= 0;
    },
  });
  const truncated = end.stopped || end.timedOut;
  return { code: end.code, output: Buffer.concat(pieces), complaint: end.complaint, truncated };
}
