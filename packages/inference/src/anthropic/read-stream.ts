/** Reads the events of a body as JSON, one after the other. An event that was cut short is none. */
import type { JsonValue } from "@sand/protocol";
import { EventSourceParserStream, ParseError } from "eventsource-parser/stream";
import { BrokenStreamError } from "../failures/explain-error.ts";
import { eventMaxChars } from "../limits.ts";
import type { StreamItem } from "../steps/stream-step.ts";

/** what some servers send last, as in the other format */
const endMark = "[DONE]";

export async function* readStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamItem> {
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: eventMaxChars }));
  try {
    for await (const { data } of events) {
      if (data !== endMark) yield parseEvent(data);
    }
  } catch (error) {
    if (!(error instanceof ParseError)) throw new BrokenStreamError(error);
    yield { kind: "unreadable" };
  }
}

function parseEvent(data: string): StreamItem {
  try {
    const chunk: JsonValue = JSON.parse(data);
    return { kind: "chunk", chunk };
  } catch {
    return { kind: "unreadable" };
  }
}
