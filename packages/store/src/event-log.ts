/**
 * The committed events of one file, newest kept. It serves resuming clients only; the facts themselves lie elsewhere.
 *
 * 1. The newest `keptEvents` are there, or as many of them as `keptBytes` hold. Trimming waits until some more have
 *    come, so that its cost is spread over many commits, and one transaction removes no more than `removedBytesMax`.
 * 2. Up to which `seq` events are gone is stored in the transaction that removes them, so a gap is always said.
 * 3. An opening counts nothing: what is stored is counted before the first trimming.
 */
import type { CommittedEvent, JsonObject } from "@sand/protocol";
import { inlineCodec, type PayloadCodec } from "./payload.ts";
import { checkSum, rowSum } from "./row-sums.ts";
import type { Connection } from "./sqlite.ts";

export const keptEvents = 5_000;
export const slackEvents = 1_024;
/** payloads that are kept, in bytes: an event of the roster names every agent, and there may be thousands of both */
export const keptBytes = 64 * 1_048_576;
const slackBytes = 16 * 1_048_576;
/** what one transaction removes, in bytes, but for one event: freeing pages takes time, and the event loop waits */
const removedBytesMax = 32 * 1_048_576;
/** the most events that one read returns */
const readMax = 5_000;

const trimmedCounter = "events_trimmed_through";

interface EventRow {
  readonly seq: number;
  readonly channel: string;
  readonly payload: string;
  readonly sum: number | null;
}

interface Stored {
  readonly events: number;
  readonly bytes: number;
}

export interface EventLog {
  append(event: CommittedEvent): void;
  /** Removes what is too old, inside the transaction that goes to commit. `added` is what it has appended. */
  trim(added: readonly CommittedEvent[]): void;
  /** Takes over what the committed transaction changed. */
  committed(): void;
  since(since: number, limit: number): readonly CommittedEvent[] | undefined;
  trimmedThrough(): number;
  lastSeq(): number;
  /** Events up to here were there once and are lost. To be called outside of a transaction. */
  loseThrough(seq: number): void;
}

/** The file has tables `events` and `counters`. */
export function createEventLog(connection: Connection, codec: PayloadCodec = inlineCodec): EventLog {
  const insert = connection.prepare("INSERT INTO events (seq, channel, payload, sum) VALUES (?, ?, ?, ?)");
  const select = connection.prepare<unknown[], EventRow>(
    "SELECT seq, channel, payload, sum FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
  );
  const selectLast = connection
    .prepare<unknown[], number>("SELECT coalesce(max(seq), 0) FROM events")
    .pluck();
  const selectCounter = connection
    .prepare<unknown[], number>("SELECT value FROM counters WHERE name = ?")
    .pluck();
  const setCounter = connection.prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)");
  const measure = connection.prepare<unknown[], Stored>(
    "SELECT count(*) AS events, coalesce(sum(octet_length(payload)), 0) AS bytes FROM events",
  );
  const oldest = connection.prepare<unknown[], { readonly seq: number; readonly bytes: number }>(
    "SELECT seq, octet_length(payload) AS bytes FROM events ORDER BY seq LIMIT ?",
  );
  const remove = connection.prepare("DELETE FROM events WHERE seq <= ?");
  let stored: Stored | undefined;
  let next: Stored | undefined;
  /** of what the open transaction has appended, also of what was undone in it */
  const sizes = new Map<number, number>();

  const trimmedThrough = (): number => selectCounter.get(trimmedCounter) ?? 0;

  return {
    append(event) {
      const payload = codec.pack(event.payload, { kind: "event", seq: event.seq });
      insert.run(event.seq, event.channel, payload, rowSum([event.seq, event.channel], payload));
      sizes.set(event.seq, Buffer.byteLength(payload));
    },
    trim(added) {
      const addedBytes = added.reduce((sum, { seq }) => sum + (sizes.get(seq) ?? 0), 0);
      next = stored === undefined ? measure.get() : plus(stored, added.length, addedBytes);
      sizes.clear();
      if (next === undefined || !isOver(next, slackEvents, slackBytes)) return;
      const cut = findCut(next, oldest.iterate(slackEvents * 2));
      if (cut === undefined) return;
      remove.run(cut.seq);
      next = cut.left;
      setCounter.run(trimmedCounter, cut.seq);
    },
    committed() {
      stored = next;
    },
    since(since, limit) {
      if (since < trimmedThrough()) return undefined;
      const rows = select.all(since, Math.min(Math.max(limit, 0), readMax));
      return rows.map(({ seq, channel, payload, sum }) => {
        checkSum(`event ${seq}`, sum, rowSum([seq, channel], payload));
        return { seq, channel, payload: codec.unpack<JsonObject>(payload) };
      });
    },
    trimmedThrough,
    loseThrough: (seq) => void setCounter.run(trimmedCounter, seq),
    // A log whose events are all gone has still given out their numbers.
    lastSeq: () => Math.max(selectLast.get() ?? 0, trimmedThrough()),
  };
}

function plus({ events, bytes }: Stored, addedEvents: number, addedBytes: number): Stored {
  return { events: events + addedEvents, bytes: bytes + addedBytes };
}

function isOver({ events, bytes }: Stored, slackOfEvents: number, slackOfBytes: number): boolean {
  return events > keptEvents + slackOfEvents || bytes > keptBytes + slackOfBytes;
}

/** Up to which `seq` events go, and what is left then. The newest event always stays. */
function findCut(
  stored: Stored,
  oldestFirst: Iterable<{ readonly seq: number; readonly bytes: number }>,
): { readonly seq: number; readonly left: Stored } | undefined {
  let cut: { readonly seq: number; readonly left: Stored } | undefined;
  for (const { seq, bytes } of oldestFirst) {
    const left: Stored = plus(cut?.left ?? stored, -1, -bytes);
    const removed = stored.bytes - left.bytes;
    if (left.events === 0 || (cut !== undefined && removed > removedBytesMax)) return cut;
    cut = { seq, left };
    if (!isOver(left, 0, 0)) return cut;
  }
  return cut;
}
