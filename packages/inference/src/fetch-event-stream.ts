/** Sends a model request and refuses a successful answer that is no stream, which no reader of a stream notices. */

/** A successful answer that isn't a stream: most often the base URL is that of a web page or lacks its version. */
export class NotAStreamError extends Error {
  readonly contentType: string;

  constructor(contentType: string) {
    super(`the model provider answered with ${contentType} and not with an event stream`);
    this.name = "NotAStreamError";
    this.contentType = contentType;
  }
}

export function isOtherThanStream(contentType: string): boolean {
  return /^(?:text\/html|application\/json)\b/iu.test(contentType);
}

export async function fetchEventStream(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const contentType = response.headers.get("content-type") ?? "";
  if (response.ok && isOtherThanStream(contentType)) {
    await response.body?.cancel();
    throw new NotAStreamError(contentType);
  }
  return response;
}
