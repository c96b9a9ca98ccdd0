/**
 * Runs a helping program over files as a command of an agent would run: as the same account and within the sandbox
 * where there is one, with a deadline. What it prints goes to the caller as it comes, who may say that it has enough.
 */
import { spawn } from "node:child_process";
import { BoxError } from "@sand/protocol";
import { isBeneath, planSandbox } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { runAsUser } from "../command-user.ts";
import type { PathFence } from "./path-fence.ts";
import { oddBytesOf, type RawPath, textOf } from "./raw-path.ts";

export interface Program {
  /** the program's own path, and its arguments */
  readonly argv: readonly string[];
  /** where it runs, as we know the folder */
  readonly cwd: RawPath;
  readonly env: Readonly<Record<string, string>>;
}

export interface ProgramRun {
  readonly program: Program;
  readonly deadlineMs: number;
  /** False: enough, the program is stopped. */
  readonly onOutput: (piece: Buffer) => boolean;
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly complaint: string;
  readonly stopped: boolean;
  readonly timedOut: boolean;
}

export interface ProgramDeps {
  readonly policy: BoxPolicy;
  readonly fence: PathFence;
}

const complaintMaxChars = 2000;

export async function runProgram(deps: ProgramDeps, run: ProgramRun): Promise<ProgramEnd> {
  const { argv, cwd, env } = commandFor(deps, run.program);
  const [file = "", ...args] = argv;
  const deadline = AbortSignal.timeout(run.deadlineMs);
  const { promise: exit, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const stop = (): void => {
    child.kill("SIGKILL");
    // Something that it left behind may hold these open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  deadline.addEventListener("abort", stop, { once: true });
  child.once("error", (cause) =>
    reject(new BoxError("exec/unsupported", `${run.program.argv[0]} can't be started`, { cause })),
  );
  child.once("exit", (code) => resolve(code));
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, complaintMaxChars);
  });
  const reading = readOutput(child.stdout, run)
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
  return { code, complaint, stopped: !isWhole, timedOut: deadline.aborted };
}

async function readOutput(output: AsyncIterable<Buffer>, run: ProgramRun): Promise<boolean> {
  for await (const piece of output) if (!run.onOutput(piece)) return false;
  return true;
}

interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

function commandFor({ policy, fence }: ProgramDeps, program: Program): Command {
  if (oddBytesOf(program.cwd).length > 0)
    throw new BoxError("exec/unsupported", "no program can be run in a folder whose name isn't text");
  const env = { PATH: policy.commandEnv.PATH ?? "", LANG: "C.UTF-8", ...program.env };
  const command = enclose(policy, { ...program, env }, textOf(fence.show(program.cwd)));
  return policy.user === undefined ? command : runAsUser(policy.user, command);
}

function enclose(policy: BoxPolicy, program: Program, shownCwd: string): Command {
  const { decision } = policy;
  const { argv, env } = program;
  if (decision.kind !== "enclose") return { argv, cwd: textOf(program.cwd), env };
  const [file = ""] = argv;
  const args = planSandbox(
    {
      workspaceRoot: policy.workspaceRoot,
      temporaryRoot: policy.temporaryRoot,
      writableRoots: [],
      readOnlyRoots: isBeneath(file, "/tmp") ? [file] : [],
      masked: policy.masked,
    },
    { cwd: shownCwd, argv, infoFd: null },
  );
  return { argv: [decision.program, ...args], cwd: policy.workspaceRoot, env };
}
