/**
 * POST /files: one file as the body, or several as a form whose parts carry their paths as file names. The body may be
 * packed with gzip. A sender that says nothing for a while is given up.
 */
import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { limits } from "../limits.ts";
import { resolvePath } from "../resolve-path.ts";
import { invalid } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";
import { parseMetadata } from "./metadata.ts";
import { receiveForm } from "./receive-form.ts";
import type { ReceivedFile } from "./received-file.ts";
import { uploadFile } from "./upload-file.ts";

/** `path` is what the address names; empty when the parts name theirs. */
export async function receiveFiles(
  ports: DaemonPorts,
  path: string,
  request: IncomingMessage,
): Promise<readonly ReceivedFile[]> {
  const metadata = parseMetadata(request.headersDistinct);
  const { home } = ports.account;

  async function store(given: string, content: AsyncIterable<Uint8Array>): Promise<ReceivedFile> {
    if (given === "" || given.endsWith("/")) throw invalid("the path of the file is missing");
    const target = resolvePath(given, home);
    await uploadFile(ports.files, target, content);
    const isKept =
      Object.keys(metadata).length > 0 && ((await ports.attributes?.replace(target, metadata)) ?? false);
    return { path: target, name: basename(target), type: "file", ...(isKept ? { metadata } : {}) };
  }

  const stopWatching = endWhenSilent(request);
  const body = unpack(request);
  try {
    const contentType = request.headers["content-type"] ?? "";
    if (/^multipart\/form-data/iu.test(contentType))
      return await receiveForm(body, contentType, { path, store });
    if (/^application\/octet-stream(?:;|$)/iu.test(contentType)) return [await store(path, body)];
    throw invalid("a file comes as multipart/form-data or as application/octet-stream");
  } catch (error) {
    throw request.errored ?? toBodyError(error);
  } finally {
    stopWatching();
  }
}

function unpack(request: IncomingMessage): Readable {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return request;
  if (encoding !== "gzip" && encoding !== "x-gzip")
    throw invalid(`a body with the encoding ${JSON.stringify(encoding.slice(0, 32))} can't be read`);
  const gunzip = createGunzip();
  // Who reads the body gets its error; of a request that is refused unread, nobody would, and the process would end.
  gunzip.on("error", () => undefined);
  request.on("error", (error) => gunzip.destroy(error));
  request.once("aborted", () => gunzip.destroy(new Error("the sender left")));
  return request.pipe(gunzip);
}

function endWhenSilent(request: IncomingMessage): () => void {
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      request.destroy(new ConnectError("the sender says nothing any more", Code.DeadlineExceeded));
    }, limits.uploadIdleMaxMs);
  };
  request.on("data", arm);
  // A listener for data starts the flow; whoever reads the body does that when it is ready.
  request.pause();
  arm();
  return () => {
    request.off("data", arm);
    clearTimeout(timer);
  };
}

/** What the unpacking or the form's reader throws is the sender's mistake. */
function toBodyError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ConnectError) return error;
  const code = "code" in error ? String(error.code) : "";
  if (code.startsWith("Z_")) return invalid("the body isn't whole gzip");
  return code === "ECONNRESET" ? new ConnectError("the sender left", Code.Canceled) : error;
}
