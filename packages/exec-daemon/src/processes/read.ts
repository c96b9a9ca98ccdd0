/** Read: one page of events, for callers that hold no stream. Waits for the first one, for as long as was asked. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ReadRequest, ReadResponseSchema } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import { limits } from "../limits.ts";
import { createEventReader } from "./execution-events.ts";
import { findExecution } from "./find-execution.ts";
import { fromCursor, toCursor } from "./to-cursor.ts";

export function createRead(
  ledger: Ledger,
): (request: ReadRequest, signal: AbortSignal) => Promise<MessageInitShape<typeof ReadResponseSchema>> {
  return async (request, signal) => {
    const execution = findExecution(ledger, request.processId);
    const after = toCursor(request.after);
    const bytesMax = Math.min(
      request.maxBytes === 0 ? limits.readPageMaxBytes : request.maxBytes,
      limits.readPageMaxBytes,
    );
    const deadline = AbortSignal.any([
      signal,
      AbortSignal.timeout(Math.min(request.waitMs, limits.waitMaxMs)),
    ]);
    const reader = createEventReader(execution, after);
    for (;;) {
      const seen = execution.changes.version;
      const events = reader.read(bytesMax);
      // `started` comes first each time; alone it is news only to one who hasn't had it.
      const isNews = events.some((event) => Number(event.seq) > after.seq) || reader.ended;
      if (isNews || deadline.aborted)
        return { events: [...events], cursor: fromCursor(reader.cursor), ended: reader.ended };
      await execution.changes.after(seen, limits.waitMaxMs, deadline);
    }
  };
}
