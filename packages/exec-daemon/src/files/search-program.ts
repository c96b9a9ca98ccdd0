/** Runs ripgrep for a search, a few at a time, and cuts its output into records until the caller has enough. */
import { dirname, relative } from "node:path";
import { createSemaphore } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { isBeneath } from "@sand/sandbox-policy";
import { rgPath } from "@vscode/ripgrep";
import type { BoxPolicy } from "../box-policy.ts";
import { limits } from "../limits.ts";
import { factsAt } from "./descriptor.ts";
import type { PathFence } from "./path-fence.ts";
import { type AskedPath, asRaw, oddBytesOf, type RawPath, textOf } from "./raw-path.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";
import { atPlace } from "./walk-path.ts";

export interface SearchRun {
  readonly at: AskedPath;
  /** after the program's name; the searched path is the folder that it runs in, or the file at its end */
  readonly args: readonly string[];
  /** what ends one record of the output */
  readonly separator: number;
  /** 0 is the longest that a search may take */
  readonly deadlineMs: number;
  /** False: enough, no more is wanted. */
  readonly onRecord: (record: Buffer) => boolean;
}

export interface SearchEnd {
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** the folder or file as commands know it */
  readonly shownRoot: RawPath;
}

export type Search = (run: SearchRun) => Promise<SearchEnd>;

export function createSearch(policy: BoxPolicy, fence: PathFence): Search {
  const slots = createSemaphore(limits.searchesMax);
  return async (run) => {
    if (run.args.some((arg) => arg.includes("\0")))
      throw new BoxError("exec/invalid", "a pattern holds no NUL");
    const release = await slots.acquire();
    try {
      const options = { access: "read", follow: true } as const;
      const { real, isFolder } = await atPlace(fence, fence.locate(run.at), options, async (place) => ({
        real: place.path,
        isFolder: factsAt(place.folder, place.name).isDirectory(),
      }));
      if (oddBytesOf(real).length > 0)
        throw new BoxError("exec/unsupported", "a path that isn't text can't be searched by itself");
      const cwd = isFolder ? real : asRaw(dirname(real));
      const end = await runProgram(
        { policy, fence },
        {
          program: {
            argv: [rgPath, ...argsFor(fence, run, cwd), isFolder ? "." : textOf(fence.show(real))],
            cwd,
            env: {},
          },
          deadlineMs: Math.min(run.deadlineMs || limits.searchMaxMs, limits.searchMaxMs),
          onOutput: cutRecords(run),
        },
      );
      refuseBadPattern(end);
      return { truncated: end.stopped, timedOut: end.timedOut, shownRoot: fence.show(real) };
    } finally {
      release();
    }
  };
}

/** What is closed is left out by name, since the program could enter it where no sandbox stops it. */
function argsFor(fence: PathFence, run: SearchRun, cwd: RawPath): readonly string[] {
  const leftOut = fence.closed
    .filter((path) => isBeneath(path, cwd) && path !== cwd)
    .flatMap((path) => ["--glob", `!/${textOf(asRaw(relative(cwd, path)))}`]);
  return [...run.args.slice(0, -1), ...leftOut, ...run.args.slice(-1)];
}

/** 2 is a failure, but also said when a single file among many couldn't be read; what was found then stands. */
function refuseBadPattern({ code, complaint }: ProgramEnd): void {
  if (code === 2 && /regex|glob|pattern|file type/iu.test(complaint))
    throw new BoxError("exec/invalid", firstLines(complaint));
}

/** False when the caller had enough, or the output was too much. */
function cutRecords(run: SearchRun): (piece: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  let total = 0;
  return (piece) => {
    total += piece.length;
    if (total > limits.searchOutputMaxBytes) return false;
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = rest.indexOf(run.separator, from); end >= 0; end = rest.indexOf(run.separator, from)) {
      if (!run.onRecord(rest.subarray(from, end))) return false;
      from = end + 1;
    }
    rest = rest.subarray(from);
    return true;
  };
}

function firstLines(text: string): string {
  return text.trim().split("\n").slice(0, 6).join("\n");
}
