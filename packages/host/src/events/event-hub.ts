/**
 * The one road by which events leave the host.
 *
 * 1. Committed events pass in the order of their `seq`; publishing an older one is a bug of the caller.
 * 2. Each event is encoded once. The newest committed ones stay in a ring, bounded by bytes and by count, from which
 *    a client that lost its connection for a moment is served without touching a store.
 * 3. Publishing never waits: a listener that can't keep up has to drop itself.
 */
import { type HostEvent, invariant } from "@sand/protocol";
import { type EncodedEvent, encodeEvent } from "./encoded-event.ts";

export interface EventHub {
  publish(events: readonly HostEvent[]): void;
  /** `listener` and `burst` must not throw. Returns how to end the subscription. */
  subscribe(listener: (event: EncodedEvent) => void, burst?: Burst): () => void;
  /** the `seq` of the newest committed event that was published, or of the last one before this start */
  lastSeq(): number;
  /** the oldest `limit` committed events after `since`, or `undefined` when the ring no longer holds them all */
  recentSince(since: number, limit: number): readonly EncodedEvent[] | undefined;
}

/** Told around several events that are published together; a single one comes without. */
export interface Burst {
  begin(): void;
  end(): void;
}

export interface EventHubOptions {
  /** the newest `seq` of earlier runs, from the host's index */
  readonly lastSeq: number;
  readonly ringMaxBytes?: number;
  readonly ringMaxEvents?: number;
}

const defaultRingMaxBytes = 4 * 1024 * 1024;
const defaultRingMaxEvents = 4_096;

export function createEventHub(options: EventHubOptions): EventHub {
  const ring = createRing(
    options.lastSeq,
    options.ringMaxBytes ?? defaultRingMaxBytes,
    options.ringMaxEvents ?? defaultRingMaxEvents,
  );
  const listeners = new Set<(event: EncodedEvent) => void>();
  const bursts = new Set<Burst>();
  let lastSeq = options.lastSeq;

  function publishOne(event: HostEvent): void {
    // A transient event that nobody listens to isn't worth encoding.
    if (event.seq === null && listeners.size === 0) return;
    const encoded = encodeEvent(event);
    if (event.seq !== null) {
      invariant(event.seq > lastSeq, "events are published in the order of their seq");
      lastSeq = event.seq;
      ring.push(event.seq, encoded);
    }
    for (const listener of listeners) listener(encoded);
    encoded.forgetVariants();
  }

  return {
    publish(events) {
      const told = events.length > 1 ? [...bursts] : [];
      for (const burst of told) burst.begin();
      try {
        for (const event of events) publishOne(event);
      } finally {
        for (const burst of told) burst.end();
      }
    },
    subscribe(listener, burst) {
      listeners.add(listener);
      if (burst !== undefined) bursts.add(burst);
      return () => {
        listeners.delete(listener);
        if (burst !== undefined) bursts.delete(burst);
      };
    },
    lastSeq: () => lastSeq,
    recentSince: (since, limit) => ring.since(since, limit),
  };
}

interface RingRow {
  readonly seq: number;
  readonly event: EncodedEvent;
}

/** Holds every committed event after `floor`; dropping the oldest raises the floor. */
function createRing(startSeq: number, maxBytes: number, maxEvents: number) {
  let rows: (RingRow | undefined)[] = [];
  let head = 0;
  let bytes = 0;
  let floor = startSeq;

  function dropOldest(): void {
    const oldest = rows[head];
    if (oldest === undefined) return;
    // Its bytes go now, not when the array moves down: that may be a thousand large events later.
    rows[head] = undefined;
    head += 1;
    bytes -= oldest.event.sizeBytes;
    floor = oldest.seq;
    // Moving the rest down now and then keeps dropping cheap and the array bounded.
    if (head > maxEvents) {
      rows = rows.slice(head);
      head = 0;
    }
  }

  return {
    push(seq: number, event: EncodedEvent): void {
      rows.push({ seq, event });
      bytes += event.sizeBytes;
      while (rows.length - head > maxEvents || (bytes > maxBytes && rows.length > head)) dropOldest();
    },
    since(since: number, limit: number): readonly EncodedEvent[] | undefined {
      if (since < floor) return undefined;
      const first = firstAfter(rows, head, since);
      return rows.slice(first, first + limit).flatMap((row) => (row === undefined ? [] : [row.event]));
    },
  };
}

/** index of the first row with a higher `seq`; rows rise */
function firstAfter(rows: readonly (RingRow | undefined)[], head: number, since: number): number {
  let [low, high] = [head, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && row.seq <= since) low = middle + 1;
    else high = middle;
  }
  return low;
}
