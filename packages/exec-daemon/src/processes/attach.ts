/**
 * Attach: every event after a cursor, then live ones until `closed`; a keepalive whenever it was silent for a while.
 * They come in pages, as they were read, for whoever writes them to a socket.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { BoxError, type Clock } from "@sand/protocol";
import {
  type AttachRequest,
  type AttachResponse,
  AttachResponseSchema,
  type Event,
  EventSchema,
} from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import { limits } from "../limits.ts";
import { createReaderPins } from "../spool/reader-pins.ts";
import { createEventReader } from "./execution-events.ts";
import { findExecution } from "./find-execution.ts";
import { toCursor } from "./to-cursor.ts";

export type Attach = (request: AttachRequest, signal: AbortSignal) => AsyncGenerator<readonly Event[]>;

/** As messages, one for each event. */
export async function* toAttachResponses(
  pages: AsyncIterable<readonly Event[]>,
): AsyncGenerator<AttachResponse> {
  for await (const page of pages) {
    for (const event of page) yield create(AttachResponseSchema, { event });
  }
}

export function createAttach(ledger: Ledger, clock: Clock): Attach {
  const pins = createReaderPins();
  let attached = 0;

  return async function* attach(request, signal) {
    const execution = findExecution(ledger, request.processId);
    if (attached >= limits.attachesMax) throw new BoxError("exec/too-many", "too many readers are attached");
    attached += 1;
    const pin = request.lossless ? pins.hold(execution.folder) : undefined;
    try {
      const reader = createEventReader(execution, toCursor(request.after));
      let sentAtMs = clock.nowMs();
      while (!signal.aborted) {
        const seen = execution.changes.version;
        const events = reader.read(limits.attachPageBytes);
        if (reader.segment !== undefined) pin?.moveTo(reader.segment);
        if (events.length > 0) yield events;
        if (reader.ended) return;
        if (events.length > 0) {
          sentAtMs = clock.nowMs();
          // A reader that keeps up with a flood never waits for its socket: without a turn of the event loop here,
          // nobody else would be answered for as long as it lasts.
          await nextTurn();
          continue;
        }
        await execution.changes.after(seen, sentAtMs + limits.keepaliveEveryMs - clock.nowMs(), signal);
        // Not every change is an event, so silence is measured and not taken from how the wait ended.
        if (clock.nowMs() - sentAtMs < limits.keepaliveEveryMs || signal.aborted) continue;
        yield [keepalive(reader.cursor.seq)];
        sentAtMs = clock.nowMs();
      }
    } finally {
      pin?.release();
      attached -= 1;
    }
  };
}

function keepalive(seq: number): Event {
  return create(EventSchema, { seq: BigInt(seq), kind: { case: "keepalive", value: {} } });
}
