/** Attach: every event after a cursor, then live ones until `closed`; a keepalive whenever it was silent for a while. */
import { create } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import {
  type AttachRequest,
  type AttachResponse,
  AttachResponseSchema,
  EventSchema,
} from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import { limits } from "../limits.ts";
import { createEventReader } from "./execution-events.ts";
import { findExecution } from "./find-execution.ts";
import { toCursor } from "./to-cursor.ts";

export function createAttach(
  ledger: Ledger,
): (request: AttachRequest, signal: AbortSignal) => AsyncGenerator<AttachResponse> {
  let attached = 0;

  return async function* attach(request, signal) {
    const execution = findExecution(ledger, request.processId);
    if (attached >= limits.attachesMax) throw new BoxError("exec/too-many", "too many readers are attached");
    attached += 1;
    try {
      const reader = createEventReader(execution, toCursor(request.after));
      while (!signal.aborted) {
        const seen = execution.changes.version;
        const events = reader.read(limits.attachPageBytes);
        for (const event of events) yield create(AttachResponseSchema, { event });
        if (reader.ended) return;
        if (events.length > 0) continue;
        await execution.changes.after(seen, limits.keepaliveEveryMs, signal);
        if (seen === execution.changes.version && !signal.aborted) yield keepalive(reader.cursor.seq);
      }
    } finally {
      attached -= 1;
    }
  };
}

function keepalive(seq: number): AttachResponse {
  const event = create(EventSchema, { seq: BigInt(seq), kind: { case: "keepalive", value: {} } });
  return create(AttachResponseSchema, { event });
}
