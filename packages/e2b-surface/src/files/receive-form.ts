/** The parts of a form, one after another: each named `file` is stored under the path that its file name is. */
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { limits } from "../limits.ts";
import { invalid } from "../surface-error.ts";
import type { ReceivedFile } from "./receive-files.ts";

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
  let count = 0;
  let failure: unknown;
  // Parts come one after another, and the next one only when this one was read to its end.
  let last: Promise<void> = Promise.resolve();

  async function take(stream: BusboyFileStream, fileName: string): Promise<void> {
    count += 1;
    if (path !== "" && count > 1) throw invalid("the address names one file and the form has several");
    received.push(await store(path === "" ? fileName : path, stream));
  }

  parser.on("file", (field, stream, fileName) => {
    stream.on("error", () => undefined);
    if (field !== partName || failure !== undefined) {
      stream.resume();
      return;
    }
    last = take(stream, fileName).catch((error: unknown) => {
      failure ??= error;
      stream.resume();
    });
  });
  const overflow = (what: string) => (): void => {
    failure ??= new ConnectError(`the form has too many ${what}`, Code.InvalidArgument);
  };
  parser.on("partsLimit", overflow("parts"));
  parser.on("filesLimit", overflow("files"));
  await pipeline(body, parser).catch((error: unknown) => {
    failure ??= error;
  });
  await last;
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

function isOurs(error: unknown): boolean {
  return error instanceof ConnectError || (error instanceof Error && "code" in error);
}
