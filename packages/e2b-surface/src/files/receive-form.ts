/** The parts of a form, one after another: each named `file` is stored under the path that its file name is. */
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { limits } from "../limits.ts";
import { invalid } from "../surface-error.ts";
import type { ReceivedFile } from "./received-file.ts";

export interface FormDeps {
  /** what the address names: then there is one file, and its name in the form doesn't count */
  readonly path: string;
  readonly store: (path: string, content: AsyncIterable<Uint8Array>) => Promise<ReceivedFile>;
}

const partName = "file";

export async function receiveForm(
  body: Readable,
  contentType: string,
  { path, store }: FormDeps,
): Promise<readonly ReceivedFile[]> {
  const parser = createParser(contentType);
  const received: ReceivedFile[] = [];
  const open = new Set<BusboyFileStream>();
  let failure: Error | undefined;
  // Small parts are all there at once; they are stored one after another all the same, in their order.
  let queue: Promise<void> = Promise.resolve();

  function fail(error: unknown): void {
    failure ??= asError(error);
    for (const stream of open) stream.resume();
  }

  async function take(stream: BusboyFileStream, fileName: string): Promise<void> {
    if (failure !== undefined) return;
    try {
      if (path !== "" && received.length > 0)
        throw invalid("the address names one file and the form has several");
      received.push(await store(path === "" ? fileName : path, stream));
    } catch (error) {
      fail(error);
    } finally {
      open.delete(stream);
      stream.resume();
    }
  }

  parser.on("file", (field, stream, fileName) => {
    stream.on("error", () => undefined);
    if (field !== partName || failure !== undefined) {
      stream.resume();
      return;
    }
    open.add(stream);
    queue = queue.then(() => take(stream, fileName));
  });
  for (const [event, what] of [
    ["partsLimit", "parts"],
    ["filesLimit", "files"],
  ] as const) {
    parser.on(event, () => fail(new ConnectError(`the form has too many ${what}`, Code.InvalidArgument)));
  }
  await pipeline(body, parser).catch((error: unknown) => {
    fail(error);
    // What was cut off would be waited for without end.
    for (const stream of open) stream.destroy(asError(error));
  });
  await queue;
  if (failure !== undefined) throw isOurs(failure) ? failure : invalid("the form isn't whole");
  if (received.length === 0) throw invalid(`the form has no part named ${partName}`);
  return received;
}

function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      // The path is in the file name, and without this only its last part would be left.
      preservePath: true,
      limits: {
        files: limits.uploadFilesMax,
        parts: limits.uploadFilesMax + 16,
        fields: 16,
        fieldSize: 64 * 1024,
      },
      isPartAFile: (_field, _type, fileName) => fileName !== undefined,
    });
  } catch (error) {
    throw new ConnectError("the form has no boundary", Code.InvalidArgument, undefined, undefined, error);
  }
}

/** What the reader of forms throws by itself has no code, and means that the form is broken. */
function isOurs(error: Error): boolean {
  return error instanceof ConnectError || "code" in error;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
