/** Starts the process that reads stores and archives, and brings its answer. It ends when whoever asked goes away. */
import { spawn } from "node:child_process";
import { BoxError, type ErrorCode, errorCodes } from "@sand/protocol";
import type { OfflineCall, OfflineReply } from "./offline-call.ts";

export type OfflineAnswer = Exclude<OfflineReply, { readonly kind: "turn" | "failed" }>;

export interface OfflineProcess {
  /** the host's program, bundle or source */
  readonly program: string;
  /** all of its environment */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly signal?: AbortSignal;
  readonly onTurn?: (turn: Extract<OfflineReply, { readonly kind: "turn" }>) => void;
}

/** the role's name, as the first argument of the host's program */
export const offlineRole = "offline";
/** one call, in `ms`: an archive of years takes minutes */
const callMaxMs = 4 * 3_600_000;
const lineMaxChars = 64 * 1_048_576;
const errorsKeptChars = 2_000;

export async function callOffline(options: OfflineProcess, call: OfflineCall): Promise<OfflineAnswer> {
  const limit = AbortSignal.timeout(callMaxMs);
  const child = spawn(process.execPath, [options.program, offlineRole], {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
    signal: options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]),
    killSignal: "SIGTERM",
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    errors = (errors + part).slice(-errorsKeptChars);
  });
  // A process that dies before it has read the call closes the pipe; its end tells why.
  child.stdin.on("error", () => undefined);
  child.stdin.write(`${JSON.stringify(call)}\n`);
  let answer: OfflineReply | undefined;
  readLines(child.stdout, (line) => {
    // Our own program wrote it.
    const reply = JSON.parse(line) as OfflineReply;
    if (reply.kind === "turn") options.onTurn?.(reply);
    else answer = reply;
  });
  await new Promise<void>((resolve) => {
    child.on("error", (error) => {
      errors = error.message;
      // One that couldn't even be started has no end to wait for.
      if (child.pid === undefined) resolve();
    });
    child.on("close", () => resolve());
  });
  return judge(answer, errors);
}

function judge(answer: OfflineReply | undefined, errors: string): OfflineAnswer {
  if (answer === undefined || answer.kind === "turn") {
    throw new BoxError("store/unavailable", "the process that reads the stores ended without an answer", {
      cause: new Error(errors),
      hint: "nothing was changed; try again",
    });
  }
  if (answer.kind !== "failed") return answer;
  const options = answer.hint === null ? {} : { hint: answer.hint };
  throw new BoxError(isCode(answer.code) ? answer.code : "store/unavailable", answer.message, options);
}

function isCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    rest += part;
    if (rest.length > lineMaxChars) throw new BoxError("store/unavailable", "an answer is too long");
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") onLine(line);
  });
}
