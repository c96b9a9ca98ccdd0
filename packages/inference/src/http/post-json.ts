/**
 * Posts a body to a provider over Node's own HTTP, and gives the answer's status, headers and bytes as they come.
 *
 * Not `fetch`: its streams and its parser take about a third of what a short step takes of the processor, and some
 * megabytes. What is kept of it: connections are used again, an unchanged request follows a redirect that asks for
 * that, and a compressed answer is read, though none is asked for.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type Duplex, pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

export interface PostedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** has to be read to its end, destroyed, or ended by the signal */
  readonly body: Readable;
}

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const redirectsMax = 3;

/** Rejects when no answer begins. `signal` is this one request's: it is listened to until it aborts. */
export async function postJson(post: Post, signal: AbortSignal): Promise<PostedAnswer> {
  const body = Buffer.from(post.body);
  let { url, headers } = post;
  for (let followed = 0; ; followed += 1) {
    const answer = await send(new URL(url), { headers, body }, signal);
    const next = redirectOf(answer, url);
    if (next === undefined || followed === redirectsMax) return toAnswer(answer);
    answer.destroy();
    if (new URL(next).origin !== new URL(url).origin) headers = withoutCredential(headers);
    url = next;
  }
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function send(url: URL, { headers, body }: Sent, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const sent = request(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      "accept-encoding": "identity",
      "content-length": body.length,
    },
  });
  let answer: IncomingMessage | undefined;
  sent.once("response", (begun) => {
    answer = begun;
    resolve(begun);
  });
  // Later failures are the answer's, which its reader gets.
  sent.on("error", reject);
  // Node's own option for this destroys the request, which for an answer that has come and isn't read yet is an error
  // of a socket that nobody listens to any more: it would end the process.
  const giveUp = (): void => {
    if (answer === undefined) sent.destroy(givenUp);
    else answer.destroy();
  };
  if (signal.aborted) giveUp();
  else signal.addEventListener("abort", giveUp, { once: true });
  sent.end(body);
  return promise;
}

const givenUp = new Error("the request was given up");

/** Only the two that keep method and body; after the others a model would be asked for nothing. */
function redirectOf({ statusCode, headers }: IncomingMessage, from: string): string | undefined {
  const isRedirect = statusCode === 307 || statusCode === 308;
  if (!isRedirect || headers.location === undefined) return undefined;
  const url = URL.parse(headers.location, from);
  return url !== null && /^https?:$/u.test(url.protocol) ? url.href : undefined;
}

function withoutCredential(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "authorization"));
}

function toAnswer(answer: IncomingMessage): PostedAnswer {
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
  );
  return { status: answer.statusCode ?? 0, headers, body: decode(answer) };
}

function decode(answer: IncomingMessage): Readable {
  const decoder = decoderOf(answer.headers["content-encoding"]);
  // A failure of either shows in what is read. One that comes behind the last read is nobody's.
  answer.on("error", () => undefined);
  decoder?.on("error", () => undefined);
  return decoder === undefined ? answer : pipeline(answer, decoder, () => undefined);
}

const decoders = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

function decoderOf(encoding: string | undefined): Duplex | undefined {
  return decoders.get(encoding?.trim().toLowerCase() ?? "")?.();
}
