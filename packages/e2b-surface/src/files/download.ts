/**
 * GET /files: one file, read in pieces, so that none is larger in memory than a piece however large the file is. A file
 * that is replaced while it is read is refused by the next piece, and the answer is broken off rather than mixed.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { FilesReadResponse } from "@sand/protocol/exec";
import { sendJson } from "../http/answer.ts";
import { limits } from "../limits.ts";
import { invalid, sandCodeOf } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";
import { type Conditions, type DownloadVerdict, judgeConditions } from "./judge-conditions.ts";
import { negotiateEncoding } from "./negotiate-encoding.ts";

type FilesClient = DaemonPorts["files"];

export async function sendFile(
  files: FilesClient,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const first = await readFirst(files, path);
  const size = Number(first.totalBytes);
  const modifiedAtMs = Math.floor(Number(first.modifiedAtMs) / 1000) * 1000;
  const etag = `"${Buffer.from(first.version, "utf8").toString("hex")}"`;
  const asked = conditionsOf(request);
  const verdict = judgeConditions({ etag, modifiedAtMs, sizeBytes: size }, asked);
  response.setHeader("etag", etag);
  response.setHeader("last-modified", new Date(modifiedAtMs).toUTCString());
  response.setHeader("accept-ranges", "bytes");
  response.setHeader("vary", "Accept-Encoding");
  const bounds = answerVerdict(response, verdict, size);
  if (bounds === undefined) return;
  const hasConditions = Object.values(asked).some((value) => value !== undefined);
  const encoding = negotiateEncoding(request.headers["accept-encoding"]);
  if (encoding === undefined && !hasConditions) {
    sendJson(response, 406, { code: 406, message: "only gzip and the file as it is can be sent" });
    return;
  }
  setContentHeaders(response, path);
  const source = { files, path, version: first.version, first: first.data, ...bounds };
  // A part counts bytes of the file itself, and an empty file has nothing to be packed.
  if (encoding === "gzip" && !hasConditions && size > 0) await sendPacked(source, request, response);
  else await sendPlain(source, request, response);
}

async function readFirst(files: FilesClient, path: string): Promise<FilesReadResponse> {
  try {
    return await files.read({ path, lengthMax: limits.pieceBytes, noDigest: true });
  } catch (error) {
    if (sandCodeOf(error) === "file/not-a-file") throw invalid("this is a folder or a device, and no file");
    throw error;
  }
}

function conditionsOf({ headers }: IncomingMessage): Conditions {
  return {
    ifMatch: headers["if-match"],
    ifNoneMatch: headers["if-none-match"],
    ifModifiedSince: headers["if-modified-since"],
    ifUnmodifiedSince: headers["if-unmodified-since"],
    ifRange: typeof headers["if-range"] === "string" ? headers["if-range"] : undefined,
    range: headers.range,
  };
}

interface Bounds {
  readonly start: number;
  /** behind the last byte */
  readonly end: number;
}

/** Undefined when the verdict is the answer. */
function answerVerdict(response: ServerResponse, verdict: DownloadVerdict, size: number): Bounds | undefined {
  switch (verdict.kind) {
    case "whole":
      response.statusCode = 200;
      return { start: 0, end: size };
    case "part":
      response.statusCode = 206;
      response.setHeader("content-range", `bytes ${verdict.start}-${verdict.end}/${size}`);
      return { start: verdict.start, end: verdict.end + 1 };
    case "not-modified":
      response.writeHead(304).end();
      return undefined;
    case "precondition-failed":
      sendJson(response, 412, { code: 412, message: "the file isn't in the state that was asked for" });
      return undefined;
    case "unsatisfiable":
      response.setHeader("content-range", `bytes */${size}`);
      sendJson(response, 416, { code: 416, message: "the file is shorter than the range" });
      return undefined;
  }
}

/** Never as something that a browser would run. */
function setContentHeaders(response: ServerResponse, path: string): void {
  const name = encodeURIComponent(basename(path).toWellFormed()).replaceAll("'", "%27");
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("content-disposition", `inline; filename*=utf-8''${name}`);
  response.setHeader("x-content-type-options", "nosniff");
}

interface Source extends Bounds {
  readonly files: FilesClient;
  readonly path: string;
  readonly version: string;
  /** the beginning of the file, which is there already */
  readonly first: Uint8Array;
}

async function* readPieces(source: Source): AsyncGenerator<Uint8Array> {
  for (let at = source.start; at < source.end; ) {
    const piece = at < source.first.length ? source.first.subarray(at) : await readPiece(source, at);
    const wanted = piece.subarray(0, source.end - at);
    // Shorter than it was: the version would have told, but a device may lie about its size.
    if (wanted.length === 0) throw invalid("the file became shorter while it was read");
    at += wanted.length;
    yield wanted;
  }
}

async function readPiece({ files, path, version, end }: Source, at: number): Promise<Uint8Array> {
  const lengthMax = Math.min(limits.pieceBytes, end - at);
  const { data } = await files.read({
    ...{ path, offset: BigInt(at), lengthMax, noDigest: true, expectedVersion: version },
  });
  return data;
}

async function sendPlain(source: Source, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader("content-length", source.end - source.start);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  for await (const piece of readPieces(source)) {
    if (response.destroyed) return;
    if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end();
}

async function sendPacked(source: Source, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader("content-encoding", "gzip");
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  await pipeline(Readable.from(readPieces(source), { objectMode: false }), gzip, response);
}
