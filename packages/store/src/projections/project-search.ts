/**
 * Brings one agent's rows of the search index up to its store, a chunk at a time.
 *
 * A new agent is scanned by its entries; afterwards its committed events say what is new or changed, so the cost is
 * that of what is new. Where some events were trimmed before they were seen, the entries behind the last one are scanned
 * first, and the older ones are looked at again when nothing else is to do. All begins anew where the store is another
 * file, or the event that was seen last isn't there any more (an older copy was restored).
 *
 * Each chunk is one transaction with the place that it comes to, so a death in between repeats nothing and leaves
 * nothing out.
 */
import { failpoint } from "@sand/node-kit";
import type { Connection } from "../sqlite.ts";
import { createMessageRows, type MessageRows } from "./message-rows.ts";
import { projectionLimits } from "./projection-limits.ts";
import type { SeenEntry, StoreReader } from "./read-store.ts";

export type Progress = "more" | "done";

export interface SearchProjector {
  step(agentId: string, store: StoreReader): Progress;
  /** Removes what is there of an agent, a chunk at a time. */
  forget(agentId: string): Progress;
}

interface Position {
  readonly store_file: string;
  /** `clear`: old rows are removed; `scan`: entries up to `scanned` are in; `follow`: events up to `through` are in */
  readonly phase: "clear" | "scan" | "follow";
  readonly scanned: number;
  readonly through: number;
  readonly anchor: string;
  /** entries up to here were looked at again; `null` when none has to be */
  readonly rechecked: number | null;
}

/** What a chunk found in the store, and the place that it comes to. */
interface Found {
  readonly entries: readonly SeenEntry[];
  readonly next: Position;
  readonly progress: Progress;
}

export function createSearchProjector(connection: Connection): SearchProjector {
  const rows = createMessageRows(connection);
  const places = writePlaces(connection);

  const begin = (store: StoreReader): Position => ({
    ...{ store_file: store.storeFile, phase: "clear" },
    ...{ scanned: 0, through: 0, anchor: "", rechecked: null },
  });

  function write(agentId: string, { entries, next, progress }: Found): Progress {
    failpoint("projection.search.before");
    connection
      .transaction(() => {
        for (const placed of entries) rows.put({ agentId, ...placed });
        places.put(agentId, next);
        if (progress === "done") places.putFingerprint(agentId, next);
      })
      .immediate();
    return progress;
  }

  return {
    step(agentId, store) {
      const known = places.get(agentId);
      const place = known?.store_file === store.storeFile ? known : begin(store);
      switch (place.phase) {
        case "clear":
          clear(connection, rows, agentId, () => places.put(agentId, scanFrom(store, place)));
          return "more";
        case "scan":
          return write(
            agentId,
            store.within(() => scan(store, place)),
          );
        case "follow":
          return write(
            agentId,
            store.within(() => follow(store, place)),
          );
      }
    },
    forget: (agentId) => clear(connection, rows, agentId, () => places.remove(agentId)),
  };
}

/** Removes a chunk of rows; the one that finds nothing left ends the removal. */
function clear(connection: Connection, rows: MessageRows, agentId: string, end: () => void): Progress {
  return connection
    .transaction((): Progress => {
      const removed = rows.removeSome(agentId, projectionLimits.chunkRemovals);
      if (removed === projectionLimits.chunkRemovals) return "more";
      end();
      return "done";
    })
    .immediate();
}

/** Events that are committed from now on are followed after the scan. */
function scanFrom(store: StoreReader, place: Position): Position {
  return store.within(() => {
    const through = store.lastSeq();
    return { ...place, phase: "scan", through, anchor: store.anchorAt(through) };
  });
}

/** A chunk of the entries behind `seq`, and where it ends; nothing when it reaches the last one. */
function takeEntries(
  store: StoreReader,
  seq: number,
): { readonly entries: SeenEntry[]; readonly end?: number } {
  const entries: SeenEntry[] = [];
  let chars = 0;
  for (const seen of store.entriesAfter(seq)) {
    entries.push(seen);
    chars += seen.chars;
    if (entries.length >= projectionLimits.chunkRows || chars >= projectionLimits.chunkMaxChars)
      return { entries, end: seen.seq };
  }
  return { entries };
}

function scan(store: StoreReader, place: Position): Found {
  const { entries, end } = takeEntries(store, place.scanned);
  const next: Position = end === undefined ? { ...place, phase: "follow" } : { ...place, scanned: end };
  return { entries, next, progress: "more" };
}

function recheck(store: StoreReader, place: Position, rechecked: number): Found {
  const { entries, end } = takeEntries(store, rechecked);
  return {
    entries,
    next: { ...place, rechecked: end ?? null },
    progress: end === undefined ? "done" : "more",
  };
}

function follow(store: StoreReader, place: Position): Found {
  const last = store.lastSeq();
  const gap = findGap(store, place);
  if (gap === "other-history") return { entries: [], next: clearing(place), progress: "more" };
  if (gap === "trimmed") {
    const now = { through: last, anchor: store.anchorAt(last) };
    const next: Position = { ...place, ...now, phase: "scan", scanned: place.through, rechecked: 0 };
    return { entries: [], next, progress: "more" };
  }
  if (place.through === last && place.rechecked !== null) return recheck(store, place, place.rechecked);
  const entries = new Map<string, SeenEntry>();
  let through = place.through;
  let events = 0;
  let chars = 0;
  for (const { seq, type, entryId } of store.transcriptEvents(place.through, projectionLimits.chunkRows)) {
    // Everything is gone, or something that this program doesn't know has happened.
    if (entryId === null || (type !== "appended" && type !== "updated"))
      return { entries: [], next: clearing(place), progress: "more" };
    const found = store.findEntry(entryId);
    entries.set(entryId, found);
    chars += found.chars;
    events += 1;
    through = seq;
    if (chars >= projectionLimits.chunkMaxChars) break;
  }
  const isFull = events === projectionLimits.chunkRows || chars >= projectionLimits.chunkMaxChars;
  if (!isFull) through = last;
  const next = { ...place, through, anchor: store.anchorAt(through) };
  const isDone = through === last && place.rechecked === null;
  return { entries: [...entries.values()], next, progress: isDone ? "done" : "more" };
}

const clearing = (place: Position): Position => ({
  ...{ ...place, phase: "clear" },
  ...{ scanned: 0, through: 0, anchor: "", rechecked: null },
});

/** Whether the events behind the last place can't be all that happened since, and why. */
function findGap(store: StoreReader, { through, anchor }: Position): "none" | "trimmed" | "other-history" {
  if (through > store.lastSeq()) return "other-history";
  const trimmed = store.trimmedThrough();
  if (through < trimmed) return "trimmed";
  return through > trimmed && store.anchorAt(through) !== anchor ? "other-history" : "none";
}

function writePlaces(connection: Connection) {
  const get = connection.prepare<unknown[], Position>(
    "SELECT store_file, phase, scanned, through, anchor, rechecked FROM positions WHERE agent_id = ?",
  );
  const put = connection.prepare("INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?, ?, ?)");
  const putAgent = connection.prepare("INSERT OR REPLACE INTO agents (agent_id, fingerprint) VALUES (?, ?)");
  const remove = connection.prepare("DELETE FROM positions WHERE agent_id = ?");
  const removeAgent = connection.prepare("DELETE FROM agents WHERE agent_id = ?");
  return {
    get: (agentId: string) => get.get(agentId),
    put(agentId: string, { store_file, phase, scanned, through, anchor, rechecked }: Position): void {
      put.run(agentId, store_file, phase, scanned, through, anchor, rechecked);
    },
    putFingerprint(agentId: string, { store_file, through, anchor }: Position): void {
      putAgent.run(agentId, `${store_file}/${through}/${anchor}`);
    },
    remove(agentId: string): void {
      remove.run(agentId);
      removeAgent.run(agentId);
    },
  };
}
