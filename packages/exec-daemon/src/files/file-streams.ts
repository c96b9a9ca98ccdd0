/** The streams that are open in the file process: an item is made when it is asked for, and nothing is after a cancel. */
import type { FileProblem, FileStream, FromFileProcess } from "./file-messages.ts";
import type { FileStreams } from "./file-verbs.ts";

export interface OpenStreams {
  open(message: { readonly id: number; readonly stream: FileStream; readonly request: object }): void;
  pull(id: number): Promise<void>;
  cancel(id: number): void;
}

export interface OpenStreamsDeps {
  readonly files: FileStreams;
  readonly send: (message: FromFileProcess) => void;
  readonly describe: (error: unknown) => FileProblem;
}

interface OpenStream {
  readonly items: AsyncIterator<object, unknown, undefined>;
  readonly ending: AbortController;
}

/** Pulls have the number of their stream: there is one at a time. */
export function createOpenStreams({ files, send, describe }: OpenStreamsDeps): OpenStreams {
  // Bounded by the daemon, which has a limit of open streams.
  const open = new Map<number, OpenStream>();

  return {
    open({ id, stream, request }) {
      const ending = new AbortController();
      // Each stream gets what the daemon's router parsed for it.
      const run = files[stream] as (given: object, signal: AbortSignal) => AsyncIterable<object>;
      open.set(id, { items: run(request, ending.signal)[Symbol.asyncIterator](), ending });
    },
    async pull(id) {
      const stream = open.get(id);
      if (stream === undefined) {
        send({ kind: "end", id });
        return;
      }
      try {
        const { done, value } = await stream.items.next();
        if (done !== true) {
          send({ kind: "answer", id, answer: value });
          return;
        }
        open.delete(id);
        send({ kind: "end", id });
      } catch (error) {
        open.delete(id);
        if (stream.ending.signal.aborted) send({ kind: "end", id });
        else send({ kind: "problem", id, problem: describe(error) });
      }
    },
    cancel(id) {
      const stream = open.get(id);
      open.delete(id);
      stream?.ending.abort();
      // What is being made is waited for by `return` itself, and its failure has nobody to tell.
      stream?.items.return?.().catch(() => undefined);
    },
  };
}
