/**
 * Which blobs the rows of a store name: written in the transaction of the row, so a name and what it keeps alive are
 * durable together. Prompts and records keep a payload as long as the agent; an event keeps it until it is trimmed.
 */
import type { Connection } from "../sqlite.ts";

/** who names a payload */
export type PayloadHolder = { readonly kind: "row" } | { readonly kind: "event"; readonly seq: number };

export interface PayloadRefs {
  keep(blob: string, bytes: number, holder: PayloadHolder): void;
  /** whether a row that stays names it */
  isKept(blob: string): boolean;
  /** whether an event names it that isn't trimmed */
  isInEvents(blob: string): boolean;
  /** forgets what only trimmed events named */
  forgetEvents(trimmedThrough: number): void;
  count(): number;
  /** names in the order of their first naming, behind the first `skipped` */
  names(skipped: number): readonly string[];
}

export function createPayloadRefs(connection: Connection): PayloadRefs {
  const insert = connection.prepare(
    "INSERT INTO payloads (blob, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING",
  );
  const insertEvent = connection.prepare(
    `INSERT INTO event_payloads (blob, last_seq) VALUES (?, ?)
     ON CONFLICT (blob) DO UPDATE SET last_seq = max(last_seq, excluded.last_seq)`,
  );
  const kept = connection.prepare("SELECT 1 FROM payloads WHERE blob = ?").pluck();
  const inEvents = connection.prepare("SELECT 1 FROM event_payloads WHERE blob = ?").pluck();
  const forget = connection.prepare("DELETE FROM event_payloads WHERE last_seq <= ?");
  const last = connection
    .prepare<unknown[], number>("SELECT coalesce(max(ordinal), 0) FROM payloads")
    .pluck();
  const names = connection
    .prepare<unknown[], string>("SELECT blob FROM payloads WHERE ordinal > ? ORDER BY ordinal")
    .pluck();
  return {
    keep(blob, bytes, holder) {
      if (holder.kind === "row") insert.run(blob, bytes);
      else insertEvent.run(blob, holder.seq);
    },
    isKept: (blob) => kept.get(blob) !== undefined,
    isInEvents: (blob) => inEvents.get(blob) !== undefined,
    forgetEvents: (trimmedThrough) => void forget.run(trimmedThrough),
    // Nothing is ever deleted from the table, so the highest number is how many there are.
    count: () => last.get() ?? 0,
    names: (skipped) => names.all(skipped),
  };
}
