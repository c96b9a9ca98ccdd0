/**
 * The role `files` of the daemon's program: does file operations apart from the daemon, which goes on answering meanwhile,
 * and as the account that commands have, so that the kernel refuses what that account may not touch.
 *
 * Where that is another account, only the effective one changes. A command can therefore neither trace this process nor signal it, and what it
 * answers can be believed. It ends when its daemon goes away.
 */
import { BoxError } from "@sand/protocol";
import type { CommandUser } from "../command-user.ts";
import type { FileProblem, FromFileProcess, ToFileProcess } from "./file-messages.ts";
import { createOpenStreams, type OpenStreams } from "./file-streams.ts";
import { type BoxFiles, createFileVerbs } from "./file-verbs.ts";
import type { WriteIntent, WriteJournal } from "./write-journal.ts";

export async function runFileRole(): Promise<void> {
  const journal = createJournalByDaemon();
  let verbs: BoxFiles | undefined;
  let streams: OpenStreams | undefined;
  process.on("message", (message: ToFileProcess) => {
    switch (message.kind) {
      case "open":
        if (message.policy.user !== undefined) becomeUser(message.policy.user);
        verbs = createFileVerbs({
          policy: message.policy,
          journal: message.hasJournal ? journal.port : undefined,
        });
        streams = createOpenStreams({ files: verbs, send, describe });
        return;
      case "request":
        void answer(verbs, message);
        return;
      case "stream":
        streams?.open(message);
        return;
      case "pull":
        void streams?.pull(message.id);
        return;
      case "cancel":
        streams?.cancel(message.id);
        return;
      case "journal":
        journal.settle(message.id, { intent: message.intent });
        return;
      case "journal-failed":
        journal.settle(message.id, "failed");
    }
  });
  await new Promise<void>((resolve) => process.once("disconnect", () => resolve()));
}

/** For good, since nothing here ever asks for the old account again. The groups come first, while we still may. */
function becomeUser(user: CommandUser): void {
  process.setgroups?.([user.gid]);
  process.setegid?.(user.gid);
  process.seteuid?.(user.uid);
}

async function answer(
  verbs: BoxFiles | undefined,
  { id, verb, request }: Extract<ToFileProcess, { kind: "request" }>,
): Promise<void> {
  try {
    if (verbs === undefined) throw new BoxError("file/io", "no policy was given");
    // Each verb gets what the daemon's router parsed for that verb.
    const run = verbs[verb] as (given: object) => Promise<object>;
    send({ kind: "answer", id, answer: await run(request) });
  } catch (error) {
    send({ kind: "problem", id, problem: describe(error) });
  }
}

function describe(error: unknown): FileProblem {
  if (error instanceof BoxError) return { code: error.code, message: error.message };
  return { code: undefined, message: error instanceof Error ? error.message : String(error) };
}

function send(message: FromFileProcess): void {
  // A daemon that is gone needs no answer; `disconnect` ends us.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

type JournalAnswer = { readonly intent: WriteIntent | undefined } | "failed";

function createJournalByDaemon(): { port: WriteJournal; settle(id: number, answer: JournalAnswer): void } {
  // Bounded by the daemon, which has a limit of requests on their way.
  const waiting = new Map<number, (answer: JournalAnswer) => void>();
  let lastId = 0;

  async function ask(toMessage: (id: number) => FromFileProcess): Promise<WriteIntent | undefined> {
    lastId += 1;
    const id = lastId;
    const { promise, resolve } = Promise.withResolvers<JournalAnswer>();
    waiting.set(id, resolve);
    send(toMessage(id));
    const given = await promise;
    if (given === "failed") throw new BoxError("file/io", "the journal of writes can't be used");
    return given.intent;
  }

  return {
    port: {
      find: (operationId) => ask((id) => ({ kind: "find", id, operationId })),
      async put(operationId, intent) {
        await ask((id) => ({ kind: "put", id, operationId, intent }));
      },
    },
    settle(id, answer) {
      waiting.get(id)?.(answer);
      waiting.delete(id);
    },
  };
}
