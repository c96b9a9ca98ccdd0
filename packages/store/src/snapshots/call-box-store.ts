/**
 * Starts the process that works on a box store and brings its answer. Nothing of snapshots is loaded on this side.
 *
 * The process ends when its standard input does, so it never outlives whoever asked. What it prints besides its answer
 * is kept for the error of a process that died.
 */
import { spawn } from "node:child_process";
import { BoxError, type ErrorCode, errorCodes } from "@sand/protocol";
import type { BoxStoreCall, BoxStoreReply } from "./box-store-call.ts";

export type BoxStoreAnswer = Exclude<BoxStoreReply, { readonly kind: "progress" | "failed" }>;

export interface BoxStoreProcess {
  /** the host's program, bundle or source */
  readonly program: string;
  /** all of its environment; holds no credential */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
  /** called with its pid as soon as it has one */
  readonly onStarted?: (pid: number) => void;
}

/** the role's name, as the first argument of the host's program */
export const boxStoreRole = "box-store";
/** one call, in `ms`: a first snapshot of much over a slow line takes hours */
const callMaxMs = 12 * 3_600_000;
const answerMaxChars = 64 * 1_048_576;
const errorsKeptChars = 2_000;

export async function callBoxStore(options: BoxStoreProcess, call: BoxStoreCall): Promise<BoxStoreAnswer> {
  const limit = AbortSignal.timeout(callMaxMs);
  const child = spawn(process.execPath, [options.program, boxStoreRole], {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
    signal: options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]),
    killSignal: "SIGTERM",
  });
  if (child.pid !== undefined) options.onStarted?.(child.pid);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    errors = (errors + part).slice(-errorsKeptChars);
  });
  // A process that dies before it has read the call closes the pipe; its end tells why.
  child.stdin.on("error", () => undefined);
  child.stdin.write(`${JSON.stringify(call)}\n`);

  let answer: BoxStoreReply | undefined;
  readLines(child.stdout, (line) => {
    // Our own program wrote it.
    const reply = JSON.parse(line) as BoxStoreReply;
    if (reply.kind === "progress") options.onProgress?.(reply.done, reply.total);
    else answer = reply;
  });
  const failure = await new Promise<Error | undefined>((resolve) => {
    let problem: Error | undefined;
    child.on("error", (error) => {
      problem = error;
      // One that couldn't even be started has no end to wait for.
      if (child.pid === undefined) resolve(problem);
    });
    child.on("close", (code, signal) => {
      resolve(problem ?? (code === 0 ? undefined : new Error(`it ended with ${signal ?? code}: ${errors}`)));
    });
  });
  return judge(answer, failure);
}

function judge(answer: BoxStoreReply | undefined, failure: Error | undefined): BoxStoreAnswer {
  if (answer === undefined || answer.kind === "progress") {
    throw new BoxError(
      "box-store/unavailable",
      "the process that works on the box store ended without an answer",
      {
        cause: failure,
        hint: "nothing is lost: what it had begun is gone on with or collected the next time",
      },
    );
  }
  if (answer.kind !== "failed") return answer;
  const options = answer.hint === null ? {} : { hint: answer.hint };
  throw new BoxError(isCode(answer.code) ? answer.code : "box-store/unavailable", answer.message, options);
}

function isCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    rest += part;
    if (rest.length > answerMaxChars) throw new BoxError("box-store/unavailable", "the answer is too long");
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") onLine(line);
  });
}
