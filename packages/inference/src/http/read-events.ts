/** Reads the events of a body as JSON, one after the other. An event that was cut short is none. */
import type { Readable } from "node:stream";
import type { JsonValue } from "@sand/protocol";
import { createParser } from "eventsource-parser";
import { BrokenStreamError } from "../failures/explain-error.ts";
import { eventMaxChars } from "../limits.ts";
import type { StreamItem } from "../steps/stream-step.ts";

const endMark = "[DONE]";

export async function* readEvents(body: Readable): AsyncGenerator<StreamItem> {
  let items: StreamItem[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== endMark) items.push(parseEvent(data));
    },
    onError: ({ type }) => {
      // Lines of a kind of its own are passed over; one that never ends isn't kept.
      if (type === "max-buffer-size-exceeded") items.push({ kind: "unreadable" });
    },
    maxBufferSize: eventMaxChars,
  });
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      const read = items;
      items = [];
      yield* read;
    }
    // Given up in the middle it ends like this as well.
    if (!body.readableEnded) throw new Error("the body was not read to its end");
  } catch (error) {
    throw new BrokenStreamError(error);
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
