/**
 * Builds one malformed request as bytes for a socket: wrong in its body, its head, its framing, or all of them. Where
 * it is well framed the server owes an answer; where it isn't, hanging up is an answer too.
 */
import { gzipSync } from "node:zlib";
import type { SeededRandom } from "../seeded-random.ts";
import { confineBody } from "./confine-body.ts";
import type { FuzzServer, FuzzTarget } from "./fuzz-target.ts";
import { breakText, mutateJson } from "./mutate-json.ts";

export interface FuzzRequest {
  readonly target: string;
  readonly server: FuzzServer;
  readonly bytes: Buffer;
  readonly hasBearer: boolean;
  /** the server owes an answer */
  readonly isWellFramed: boolean;
  readonly isOpenEnded: boolean;
}

export type Bearers = Readonly<Record<FuzzServer, string>>;

const bearerChance = 0.85;
const rawChance = 0.06;

export function buildRequest(random: SeededRandom, target: FuzzTarget, bearers: Bearers): FuzzRequest {
  const bearer = bearers[target.server];
  if (random.chance(rawChance)) return rawFrame(random, target);
  const hasBearer = random.chance(bearerChance);
  const head = buildHead(random, target, hasBearer ? `Bearer ${bearer}` : wrongBearer(random, bearer));
  const body = buildBody(random, target);
  const framed = frame(random, head, body);
  return {
    target: target.name,
    server: target.server,
    bytes: framed.bytes,
    hasBearer,
    isWellFramed: framed.isWellFramed,
    isOpenEnded: target.isOpenEnded,
  };
}

interface RequestHead {
  readonly line: string;
  readonly headers: readonly string[];
  /** the parser may refuse the head itself */
  readonly isSound: boolean;
}

function wrongBearer(random: SeededRandom, bearer: string): string | undefined {
  return random.pick([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    `bearer  ${bearer}x`,
    `Basic ${Buffer.from(`user:${bearer}`).toString("base64")}`,
    `Bearer ${bearer.slice(0, -1)}`,
    `Bearer ${"z".repeat(random.whole(1, 6_000))}`,
    `Bearer ${bearer} ${bearer}`,
    "Bearer null",
  ] as const);
}

function buildHead(random: SeededRandom, target: FuzzTarget, authorization: string | undefined): RequestHead {
  const wrongMethod = random.chance(0.06);
  const method = wrongMethod
    ? random.pick(["GET", "PUT", "DELETE", "OPTIONS", "TRACE", "HEAD", "PATCH", "PROPFIND"] as const)
    : target.method;
  const wrongPath = random.chance(0.08);
  const path = wrongPath ? breakPath(random, target.path) : target.path;
  const headers = [
    `host: ${random.chance(0.03) ? random.pick(["", "zq", "evil.example:80", "[::1"] as const) : "127.0.0.1"}`,
  ];
  if (authorization !== undefined) headers.push(credential(target, authorization));
  headers.push(`content-type: ${contentType(random, target)}`, "connection: close");
  const extra = random.chance(0.3) ? oddHeader(random) : undefined;
  if (extra !== undefined) headers.push(extra);
  const hasOddText = [path, extra ?? ""].some((text) => !/^[\x20-\x7e]*$/u.test(text) || text.includes(" :"));
  const line = `${method} ${path} HTTP/1.1`;
  return { line, headers, isSound: !hasOddText && !path.includes(" ") && line.length < 8_000 };
}

/** The E2B surface has a header of its own, without a scheme. */
function credential(target: FuzzTarget, authorization: string): string {
  if (target.server !== "e2b") return `authorization: ${authorization}`;
  return `x-access-token: ${authorization.replace(/^Bearer /u, "")}`;
}

function contentType(random: SeededRandom, target: FuzzTarget): string {
  if (random.chance(0.75)) return target.isStreamed ? "application/connect+json" : "application/json";
  return random.pick([
    "application/json; charset=utf-16",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=zq",
    "application/proto",
    "application/connect+proto",
    "application/grpc",
    "application/octet-stream",
    "zq",
    "",
  ] as const);
}

function breakPath(random: SeededRandom, path: string): string {
  return random.pick([
    `${path}/`,
    `/${path}`,
    `${path}%00`,
    `${path}%zz`,
    `${path}?${"a=".repeat(random.whole(1, 500))}`,
    `${path}?since=${random.pick(["-1", "zq", "1e9", "99999999999999999999", "", "1.5", "0x1"] as const)}`,
    `${path}?channels=${"a,".repeat(random.whole(1, 1_000))}`,
    `${path}?nonce=${"z".repeat(random.whole(60, 400))}`,
    path.toUpperCase(),
    path.replace("/", "/../"),
    path.replaceAll("/", "%2f"),
    `${path}/${"a".repeat(random.whole(100, 9_000))}`,
    `${path}\u00ff`,
    `http://127.0.0.1${path}`,
    "*",
    "/",
    `${path}#zq`,
    `${path};zq`,
  ] as const);
}

function oddHeader(random: SeededRandom): string {
  return random.pick([
    "origin: http://127.0.0.1",
    "x-sand-slim-avatars: 1",
    "x-sand-slim-avatars: zq",
    `x-sand-request-id: ${"z".repeat(random.whole(1, 3_000))}`,
    "x-sand-request-id: \u00e9\u00ff",
    "traceparent: zq-zq-zq-zq",
    "accept-encoding: gzip, zq;q=9, *;q=zq",
    "accept-encoding: gzip",
    "content-encoding: gzip",
    "content-encoding: zq",
    "last-event-id: zq",
    `last-event-id: ${"9".repeat(random.whole(1, 400))}`,
    "expect: 100-continue",
    "expect: zq",
    "upgrade: websocket",
    "connect-protocol-version: 9",
    "connect-timeout-ms: zq",
    "connect-timeout-ms: -1",
    "connect-content-encoding: zq",
    "range: bytes=9-1",
    "if-none-match: zq",
    `cookie: ${"z=".repeat(random.whole(1, 2_000))}`,
    "forwarded: for=zq",
    "zq : space before the colon",
  ] as const);
}

function buildBody(random: SeededRandom, target: FuzzTarget): Buffer {
  if (target.body === undefined && random.chance(0.6)) return Buffer.alloc(0);
  const mutated = mutateJson(random, target.body ?? {});
  const text = JSON.stringify(target.isConfined ? confineBody(mutated) : mutated);
  const body = random.chance(0.3) ? breakText(random, text) : Buffer.from(text);
  if (target.isStreamed && random.chance(0.8)) return envelope(random, body);
  return random.chance(0.02) ? gzipSync(body) : body;
}

/** Connect's frame of a stream: flags and length, right or wrong. */
function envelope(random: SeededRandom, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(random.chance(0.8) ? 0 : random.whole(0, 255), 0);
  const length = random.chance(0.7)
    ? body.length
    : random.pick([0, 1, body.length + 7, 0xffff_ffff, 0x7fff_ffff] as const);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, body]);
}

function frame(
  random: SeededRandom,
  head: RequestHead,
  body: Buffer,
): { readonly bytes: Buffer; readonly isWellFramed: boolean } {
  const join = (headers: readonly string[], rest: Buffer) =>
    Buffer.concat([Buffer.from(`${[head.line, ...headers].join("\r\n")}\r\n\r\n`, "latin1"), rest]);
  if (random.chance(0.85)) {
    const bytes = join([...head.headers, `content-length: ${body.length}`], body);
    return { bytes, isWellFramed: head.isSound };
  }
  if (random.chance(0.3)) {
    const chunked = Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from("\r\n0\r\n\r\n"),
    ]);
    const bytes = join(
      [...head.headers, "transfer-encoding: chunked"],
      body.length === 0 ? Buffer.from("0\r\n\r\n") : chunked,
    );
    return { bytes, isWellFramed: head.isSound };
  }
  const wrong = random.pick([
    [`content-length: ${body.length + random.whole(1, 50)}`],
    [`content-length: ${Math.max(0, body.length - random.whole(1, 50))}`],
    ["content-length: -1"],
    ["content-length: zq"],
    ["content-length: 99999999999999999999"],
    [`content-length: ${2 ** 40}`],
    [`content-length: ${body.length}`, `content-length: ${body.length + 1}`],
    [`content-length: ${body.length}`, "transfer-encoding: chunked"],
    ["transfer-encoding: zq"],
    ["transfer-encoding: chunked"],
    [],
  ] as const);
  return { bytes: join([...head.headers, ...wrong], body), isWellFramed: false };
}

/** Not even a request: what a port scanner, another protocol or noise sends. */
function rawFrame(random: SeededRandom, target: FuzzTarget): FuzzRequest {
  const texts = [
    "GET / HTTP/0.9\r\n\r\n",
    "GET /health\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    `${target.method} ${target.path} HTTP/1.1\r\nno colon here\r\n\r\n`,
    `${target.method} ${target.path} HTTP/1.1\r\n\r\n`,
    `${target.method} ${target.path} HTTP/1.1\r\nhost: a\r\n folded: yes\r\n\r\n`,
    `${target.method} ${target.path} HTTP/9.9\r\nhost: a\r\n\r\n`,
    `${target.method}  ${target.path} HTTP/1.1\nhost: a\n\n`,
    `${target.method} ${target.path} HTTP/1.1\r\nhost: a\r\nx: ${"z".repeat(random.whole(10_000, 90_000))}\r\n\r\n`,
    `${target.method} ${target.path} HTTP/1.1\r\nhost: a\r\n${"a: b\r\n".repeat(random.whole(100, 3_000))}\r\n`,
    `${"\r\n".repeat(random.whole(1, 2_000))}`,
    `CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: a\r\n\r\n`,
    `\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001`,
  ] as const;
  const bytes = random.chance(0.25)
    ? Buffer.from(random.bytes(random.whole(1, 4_000)))
    : Buffer.from(random.pick(texts), "latin1");
  return {
    target: "raw",
    server: target.server,
    bytes,
    hasBearer: false,
    isWellFramed: false,
    isOpenEnded: false,
  };
}
