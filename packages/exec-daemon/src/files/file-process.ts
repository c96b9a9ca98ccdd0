/**
 * The daemon's end of the file process (`run-file-role.ts`): starts it when it is needed, hands it requests, keeps the
 * journal for it, and starts another one after its death. Requests that were on their way then fail, and may be
 * repeated: a write that was done is known by its operation id. One that nobody needs for a while is ended.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { failpoint } from "@sand/node-kit";
import { BoxError, type ErrorCode, errorCodes } from "@sand/protocol";
import type { BoxPolicy } from "../box-policy.ts";
import { limits } from "../limits.ts";
import { fileLimits } from "./file-limits.ts";
import type { FileProblem, FileStream, FileVerb, FromFileProcess, ToFileProcess } from "./file-messages.ts";
import type { BoxFiles, FileStreams, FileVerbs } from "./file-verbs.ts";
import type { WriteIntent, WriteJournal } from "./write-journal.ts";

export interface FileProcessDeps {
  /** the program and its first arguments, to which the role is added */
  readonly command: readonly [string, ...string[]];
  readonly policy: BoxPolicy;
  readonly journal: WriteJournal | undefined;
}

export interface FileProcess extends BoxFiles {
  close(): void;
}

interface Waiting {
  /** undefined: a stream is at its end */
  readonly resolve: (answer: object | undefined) => void;
  readonly reject: (error: BoxError) => void;
}

export function createFileProcess(deps: FileProcessDeps): FileProcess {
  const waiting = new Map<number, Waiting>();
  let [lastId, requests, streams] = [0, 0, 0];
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;

  function start(): ChildProcess {
    const started = spawnRole(deps);
    const onGone = (): void => {
      if (child !== started) return;
      child = undefined;
      for (const [id, { reject }] of waiting) {
        waiting.delete(id);
        reject(new BoxError("file/io", "the process for file operations ended; repeat the request"));
      }
    };
    started.on("error", onGone);
    started.on("exit", onGone);
    // Written whole by our own program, so its messages are taken as they are.
    started.on("message", (message) => void hear(started, message as FromFileProcess));
    tell(started, { kind: "open", policy: deps.policy, hasJournal: deps.journal !== undefined });
    return started;
  }

  async function hear(from: ChildProcess, message: FromFileProcess): Promise<void> {
    if (message.kind === "find" || message.kind === "put") {
      await keepJournal(deps.journal, from, message);
      return;
    }
    const one = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.kind === "problem") one?.reject(toError(message.problem));
    else one?.resolve(message.kind === "answer" ? message.answer : undefined);
    restIfIdle();
  }

  /** Whoever asks next starts another one. */
  function restIfIdle(): void {
    clearTimeout(idle);
    if (waiting.size > 0 || streams > 0) return;
    idle = setTimeout(close, fileLimits.idleMaxMs).unref();
  }

  function close(): void {
    clearTimeout(idle);
    const ending = child;
    child = undefined;
    if (ending?.connected === true) ending.disconnect();
  }

  async function ask(
    to: ChildProcess,
    message: Extract<ToFileProcess, { id: number }>,
  ): Promise<object | undefined> {
    clearTimeout(idle);
    const { promise, resolve, reject } = Promise.withResolvers<object | undefined>();
    waiting.set(message.id, { resolve, reject });
    tell(to, message);
    return await promise;
  }

  async function run(verb: FileVerb, request: object): Promise<object | undefined> {
    // Streams have a bound of their own: one that waits for news must not take the place of a request.
    if (requests >= limits.fileRequestsMax)
      throw new BoxError("exec/too-many", `${limits.fileRequestsMax} file operations are on their way`);
    requests += 1;
    try {
      child ??= start();
      return await ask(child, { kind: "request", id: nextId(), verb, request });
    } finally {
      requests -= 1;
    }
  }

  function nextId(): number {
    lastId += 1;
    return lastId;
  }

  async function* follow(
    stream: FileStream,
    request: object,
    signal: AbortSignal,
  ): AsyncGenerator<object, void, undefined> {
    if (streams >= fileLimits.streamsMax)
      throw new BoxError("exec/too-many", `${fileLimits.streamsMax} streams of files are open`);
    streams += 1;
    child ??= start();
    const [to, id] = [child, nextId()];
    const cancel = (): void => tell(to, { kind: "cancel", id });
    signal.addEventListener("abort", cancel, { once: true });
    try {
      tell(to, { kind: "stream", id, stream, request });
      while (!signal.aborted) {
        if (child !== to) throw new BoxError("file/io", "the process for file operations ended");
        const item = await ask(to, { kind: "pull", id });
        if (item === undefined) return;
        yield item;
      }
    } finally {
      signal.removeEventListener("abort", cancel);
      cancel();
      streams -= 1;
      restIfIdle();
    }
  }

  // The other end runs the verb or stream of that name, whose answers have that one's type.
  const verb = <Verb extends FileVerb>(name: Verb): FileVerbs[Verb] =>
    ((request: object) => run(name, request)) as FileVerbs[Verb];
  const stream = <Stream extends FileStream>(name: Stream): FileStreams[Stream] =>
    ((request: object, signal: AbortSignal) => follow(name, request, signal)) as FileStreams[Stream];

  return {
    ...{ read: verb("read"), write: verb("write"), append: verb("append") },
    ...{ list: verb("list"), stat: verb("stat"), grep: verb("grep"), glob: verb("glob") },
    ...{ make: verb("make"), move: verb("move"), copy: verb("copy"), remove: verb("remove") },
    ...{ uploadPiece: verb("uploadPiece"), uploadStatus: verb("uploadStatus") },
    ...{ uploadCommit: verb("uploadCommit"), uploadDrop: verb("uploadDrop"), git: verb("git") },
    ...{ link: verb("link"), diffTexts: verb("diffTexts"), applyPatch: verb("applyPatch") },
    ...{ listStream: stream("listStream"), watch: stream("watch"), tree: stream("tree") },
    close,
  };
}

function spawnRole({ command, policy }: FileProcessDeps): ChildProcess {
  const [program, ...args] = command;
  return spawn(program, [...args, "files"], {
    cwd: "/",
    env: { PATH: policy.commandEnv.PATH ?? "", LANG: "C.UTF-8" },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
  });
}

async function keepJournal(
  journal: WriteJournal | undefined,
  from: ChildProcess,
  message: Extract<FromFileProcess, { kind: "find" | "put" }>,
): Promise<void> {
  const { id, operationId } = message;
  try {
    if (message.kind === "put") await put(journal, operationId, message.intent);
    const intent = message.kind === "find" ? await journal?.find(operationId) : undefined;
    tell(from, { kind: "journal", id, intent });
  } catch {
    // The request that asked fails with it, and says so to its caller.
    tell(from, { kind: "journal-failed", id });
  }
}

/** Whoever dies here dies between the intent and the file, or between the file and what is known of it. */
async function put(
  journal: WriteJournal | undefined,
  operationId: string,
  intent: WriteIntent,
): Promise<void> {
  if (intent.done) failpoint("file.written");
  await journal?.put(operationId, intent);
  if (!intent.done) failpoint("file.intended");
}

function tell(child: ChildProcess, message: ToFileProcess): void {
  // One that is just dying can't be told; its exit fails what waits.
  if (child.connected) child.send(message, () => undefined);
}

function toError(problem: FileProblem): BoxError {
  return problem.code !== undefined && isErrorCode(problem.code)
    ? new BoxError(problem.code, problem.message)
    : new BoxError("file/io", "the file operation failed", { cause: new Error(problem.message) });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code);
}
