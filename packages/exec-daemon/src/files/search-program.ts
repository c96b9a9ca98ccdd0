/**
 * Runs ripgrep for a search: within the sandbox where there is one, with a deadline and a bound on its output, a few
 * at a time. The caller looks at the output as it comes and may say that it has enough.
 */
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { dirname, relative } from "node:path";
import { createSemaphore } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { isBeneath, planSandbox } from "@sand/sandbox-policy";
import { rgPath } from "@vscode/ripgrep";
import type { BoxPolicy } from "../box-policy.ts";
import { runAsUser } from "../command-user.ts";
import { limits } from "../limits.ts";
import { type PathFence, realPathOf } from "./path-fence.ts";

export interface SearchRun {
  readonly path: string;
  /** after the program's name; the searched path is the folder that it runs in, or the file at its end */
  readonly args: readonly string[];
  /** what ends one record of the output */
  readonly separator: number;
  /** False: enough, no more is wanted. */
  readonly onRecord: (record: Buffer) => boolean;
}

export interface SearchEnd {
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** the folder or file as commands know it */
  readonly shownRoot: string;
}

export type Search = (run: SearchRun) => Promise<SearchEnd>;

const complaintMaxChars = 2000;

export function createSearch(policy: BoxPolicy, fence: PathFence): Search {
  const slots = createSemaphore(limits.searchesMax);
  return async (run) => {
    if (run.args.some((arg) => arg.includes("\0")))
      throw new BoxError("exec/invalid", "a pattern holds no NUL");
    const release = await slots.acquire();
    try {
      const handle = await fence.open(fence.locate(run.path), constants.O_RDONLY, "read");
      const real = realPathOf(handle);
      const isFolder = (await handle.stat()).isDirectory();
      await handle.close();
      const place = { real, cwd: isFolder ? real : dirname(real), target: isFolder ? "." : real };
      const ended = await runProgram(commandFor(policy, fence, run, place), run);
      return { ...ended, shownRoot: fence.show(real) };
    } finally {
      release();
    }
  };
}

interface Place {
  readonly real: string;
  readonly cwd: string;
  readonly target: string;
}

function commandFor(
  policy: BoxPolicy,
  fence: PathFence,
  run: SearchRun,
  place: Place,
): { argv: readonly string[]; cwd: string; env: Readonly<Record<string, string>> } {
  const command = enclosedCommand(policy, fence, run, place);
  return policy.user === undefined ? command : runAsUser(policy.user, command);
}

function enclosedCommand(
  policy: BoxPolicy,
  fence: PathFence,
  run: SearchRun,
  place: Place,
): { argv: string[]; cwd: string; env: Record<string, string> } {
  const env = { PATH: policy.commandEnv.PATH ?? "", LANG: "C.UTF-8" };
  const leftOut = fence.closed
    .filter((path) => isBeneath(path, place.cwd) && path !== place.cwd)
    .flatMap((path) => ["--glob", `!/${relative(place.cwd, path)}`]);
  const { decision } = policy;
  const inner = [rgPath, ...run.args.slice(0, -1), ...leftOut, ...run.args.slice(-1)];
  if (decision.kind !== "enclose") return { argv: [...inner, place.target], cwd: place.cwd, env };
  const cwd = fence.show(place.cwd);
  const args = planSandbox(
    {
      workspaceRoot: policy.workspaceRoot,
      temporaryRoot: policy.temporaryRoot,
      writableRoots: [],
      readOnlyRoots: isBeneath(rgPath, "/tmp") ? [rgPath] : [],
      masked: policy.masked,
    },
    { cwd, argv: [...inner, place.target === "." ? "." : fence.show(place.real)], infoFd: null },
  );
  return { argv: [decision.program, ...args], cwd: policy.workspaceRoot, env };
}

async function runProgram(
  command: {
    readonly argv: readonly string[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  },
  run: SearchRun,
): Promise<{ truncated: boolean; timedOut: boolean }> {
  const [program = "", ...args] = command.argv;
  const deadline = AbortSignal.timeout(limits.searchMaxMs);
  const { promise: exit, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(program, args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = (): void => {
    child.kill("SIGKILL");
    // Something that it left behind may hold these open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  deadline.addEventListener("abort", stop, { once: true });
  child.once("error", (cause) =>
    reject(new BoxError("exec/unsupported", "the search program can't be started", { cause })),
  );
  child.once("exit", (code) => resolve(code));
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, complaintMaxChars);
  });
  const reading = readRecords(child.stdout, run)
    .catch((error: unknown) => {
      // The deadline destroys the stream; anything else is a failure of its own.
      if (deadline.aborted) return false;
      stop();
      throw error;
    })
    .then((isWhole) => {
      if (!isWhole) stop();
      return isWhole;
    });
  const [code, isWhole] = await Promise.all([exit, reading]);
  deadline.removeEventListener("abort", stop);
  // 2 is a failure, but also said when a single file among many couldn't be read; what was found then stands.
  if (code === 2 && /regex|glob|pattern/iu.test(complaint))
    throw new BoxError("exec/invalid", firstLines(complaint));
  return { truncated: !isWhole, timedOut: deadline.aborted };
}

/** False when the caller had enough, or the output was too much. */
async function readRecords(output: AsyncIterable<Buffer>, run: SearchRun): Promise<boolean> {
  let rest: Buffer = Buffer.alloc(0);
  let total = 0;
  for await (const piece of output) {
    total += piece.length;
    if (total > limits.searchOutputMaxBytes) return false;
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = rest.indexOf(run.separator, from); end >= 0; end = rest.indexOf(run.separator, from)) {
      if (!run.onRecord(rest.subarray(from, end))) return false;
      from = end + 1;
    }
    rest = rest.subarray(from);
  }
  return true;
}

function firstLines(text: string): string {
  return text.trim().split("\n").slice(0, 6).join("\n");
}
