/**
 * The daemon's end of the file process (`run-file-role.ts`): starts it when it is needed, hands it requests, keeps the
 * journal for it, and starts another one after its death. Requests that were on their way then fail, and may be
 * repeated: a write that was done is known by its operation id.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { BoxError, type ErrorCode, errorCodes } from "@sand/protocol";
import type { BoxPolicy } from "../box-policy.ts";
import { limits } from "../limits.ts";
import type { FileProblem, FileVerb, FromFileProcess, ToFileProcess } from "./file-messages.ts";
import type { FileVerbs } from "./file-verbs.ts";
import type { WriteJournal } from "./write-journal.ts";

export interface FileProcessDeps {
  /** the program and its first arguments, to which the role is added */
  readonly command: readonly [string, ...string[]];
  readonly policy: BoxPolicy;
  readonly journal: WriteJournal | undefined;
}

export interface FileProcess extends FileVerbs {
  close(): void;
}

interface Waiting {
  readonly resolve: (answer: object) => void;
  readonly reject: (error: BoxError) => void;
}

export function createFileProcess(deps: FileProcessDeps): FileProcess {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let child: ChildProcess | undefined;

  function start(): ChildProcess {
    const [program, ...args] = deps.command;
    const started = spawn(program, [...args, "files"], {
      cwd: "/",
      env: { PATH: deps.policy.commandEnv.PATH ?? "", LANG: "C.UTF-8" },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    const onGone = (): void => {
      if (child === started) child = undefined;
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
    switch (message.kind) {
      case "answer":
        waiting.get(message.id)?.resolve(message.answer);
        waiting.delete(message.id);
        return;
      case "problem":
        waiting.get(message.id)?.reject(toError(message.problem));
        waiting.delete(message.id);
        return;
      case "find":
      case "put":
        await keepJournal(from, message);
    }
  }

  async function keepJournal(
    from: ChildProcess,
    message: Extract<FromFileProcess, { kind: "find" | "put" }>,
  ): Promise<void> {
    const { id, operationId } = message;
    try {
      if (message.kind === "put") await deps.journal?.put(operationId, message.intent);
      const intent = message.kind === "find" ? await deps.journal?.find(operationId) : undefined;
      tell(from, { kind: "journal", id, intent });
    } catch {
      // The request that asked fails with it, and says so to its caller.
      tell(from, { kind: "journal-failed", id });
    }
  }

  function ask(verb: FileVerb, request: object): Promise<object> {
    if (waiting.size >= limits.fileRequestsMax)
      throw new BoxError("exec/too-many", `${limits.fileRequestsMax} file operations are on their way`);
    child ??= start();
    lastId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    waiting.set(lastId, { resolve, reject });
    tell(child, { kind: "request", id: lastId, verb, request });
    return promise;
  }

  return {
    // The other end runs the verb of that name, whose answer has that verb's type.
    read: async (request) => (await ask("read", request)) as Awaited<ReturnType<FileVerbs["read"]>>,
    write: async (request) => (await ask("write", request)) as Awaited<ReturnType<FileVerbs["write"]>>,
    list: async (request) => (await ask("list", request)) as Awaited<ReturnType<FileVerbs["list"]>>,
    stat: async (request) => (await ask("stat", request)) as Awaited<ReturnType<FileVerbs["stat"]>>,
    grep: async (request) => (await ask("grep", request)) as Awaited<ReturnType<FileVerbs["grep"]>>,
    glob: async (request) => (await ask("glob", request)) as Awaited<ReturnType<FileVerbs["glob"]>>,
    close() {
      if (child?.connected === true) child.disconnect();
    },
  };
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
