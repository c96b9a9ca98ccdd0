/**
 * Opens the HTTP stream of one chat completion. Nothing is retried here. What a provider refuses is thrown as the
 * provider library's error, so that both wire formats have one way to say what a failure means.
 */
import type { Readable } from "node:stream";
import { APICallError } from "@ai-sdk/provider";
import { isOtherThanStream, NotAStreamError } from "../fetch-event-stream.ts";
import { type PostedAnswer, postJson } from "../http/post-json.ts";
import { refusalMaxBytes } from "../limits.ts";

export interface StreamSource {
  /** the name under which reasoning is bound to this kind of provider */
  readonly provider: string;
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly model: string;
  readonly includeUsage: boolean;
}

export async function openStream(source: StreamSource, body: string, signal: AbortSignal): Promise<Readable> {
  const url = `${source.baseUrl}/chat/completions`;
  const headers = {
    "user-agent": "sand",
    ...(source.apiKey === null ? {} : { authorization: `Bearer ${source.apiKey}` }),
  };
  const facts = { url, requestBodyValues: {} };
  let answer: PostedAnswer;
  try {
    answer = await postJson({ url, headers, body }, signal);
  } catch (cause) {
    throw new APICallError({ ...facts, message: "no answer", cause });
  }
  const { status: statusCode } = answer;
  if (statusCode >= 200 && statusCode < 300) {
    const contentType = answer.headers["content-type"] ?? "";
    if (!isOtherThanStream(contentType)) return answer.body;
    answer.body.destroy();
    throw new NotAStreamError(contentType);
  }
  const responseBody = await readRefusal(answer.body);
  throw new APICallError({
    ...facts,
    ...{ message: "refused", statusCode, responseHeaders: { ...answer.headers }, responseBody },
  });
}

/** What came of it before it broke off or became too long says enough. */
async function readRefusal(body: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= refusalMaxBytes) break;
    }
  } catch {
    // The status is known, and decides what the failure means.
  }
  return Buffer.concat(pieces).toString("utf8");
}
