/**
 * The committed events of one file, newest kept. It serves resuming clients only; the facts themselves lie elsewhere.
 *
 * 1. At least `keptEvents` newest events are there. Trimming waits until `slackEvents` more have come, so that its cost
 *    is spread over many commits.
 * 2. Up to which `seq` events are gone is stored in the transaction that removes them, so a gap is always said.
 */
import type { CommittedEvent, JsonObject } from "@sand/protocol";
import { packPayload, unpackPayload } from "./payload.ts";
import type { Connection } from "./sqlite.ts";

export const keptEvents = 5_000;
export const slackEvents = 1_024;
/** the most events that one read returns */
const readMax = 5_000;

const trimmedCounter = "events_trimmed_through";

interface EventRow {
  readonly seq: number;
  readonly channel: string;
  readonly payload: string;
}

export interface EventLog {
  append(event: CommittedEvent): void;
  /** Removes what is too old, inside the transaction that goes to commit. `added` is how many it has appended. */
  trim(added: number): void;
  /** Takes over what the committed transaction changed. */
  committed(): void;
  since(since: number, limit: number): readonly CommittedEvent[] | undefined;
  trimmedThrough(): number;
  lastSeq(): number;
}

/** The file has tables `events` and `counters`. */
export function createEventLog(connection: Connection): EventLog {
  const insert = connection.prepare("INSERT INTO events (seq, channel, payload) VALUES (?, ?, ?)");
  const select = connection.prepare<unknown[], EventRow>(
    "SELECT seq, channel, payload FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
  );
  const selectLast = connection
    .prepare<unknown[], number>("SELECT coalesce(max(seq), 0) FROM events")
    .pluck();
  const selectCounter = connection
    .prepare<unknown[], number>("SELECT value FROM counters WHERE name = ?")
    .pluck();
  const setCounter = connection.prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)");
  const selectNewestGone = connection
    .prepare<unknown[], number>("SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?")
    .pluck();
  const remove = connection.prepare("DELETE FROM events WHERE seq <= ?");
  let stored = Number(connection.prepare("SELECT count(*) FROM events").pluck().get());
  let next = stored;

  const trimmedThrough = (): number => selectCounter.get(trimmedCounter) ?? 0;

  return {
    append(event) {
      insert.run(event.seq, event.channel, packPayload(event.payload));
    },
    trim(added) {
      next = stored + added;
      if (next <= keptEvents + slackEvents) return;
      const gone = selectNewestGone.get(keptEvents);
      if (gone === undefined) return;
      next -= remove.run(gone).changes;
      setCounter.run(trimmedCounter, gone);
    },
    committed() {
      stored = next;
    },
    since(since, limit) {
      if (since < trimmedThrough()) return undefined;
      const rows = select.all(since, Math.min(Math.max(limit, 0), readMax));
      return rows.map((row) => ({ ...row, payload: unpackPayload<JsonObject>(row.payload) }));
    },
    trimmedThrough,
    lastSeq: () => selectLast.get() ?? 0,
  };
}
