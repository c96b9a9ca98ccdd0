/**
 * The changes that a transaction may make.
 *
 * 1. A turn is written under its fence: only the open turn, under its own generation, takes records (INV-3).
 * 2. A call has one result: the unique index refuses a second, and the late one gets a typed answer.
 * 3. Each event gets its `seq` when it is made, so numbers rise in commit order.
 */
import type { AgentReads, AgentTx, TurnFence, TurnRecord } from "@sand/agent-core";
import {
  type AgentId,
  BoxError,
  type CommittedEvent,
  invariant,
  type JsonObject,
  type TranscriptEntry,
} from "@sand/protocol";
import type { EventLog } from "./event-log.ts";
import { type PayloadCodec, packPayload } from "./payload.ts";
import { rowSum } from "./row-sums.ts";
import {
  deliverySum,
  endSum,
  promptColumns,
  promptToValues,
  recordSum,
  turnColumns,
  turnToValues,
} from "./rows.ts";
import type { SeqAllocator } from "./seq-allocator.ts";
import { type Connection, isUniqueViolation } from "./sqlite.ts";

export interface AgentTxDeps {
  readonly connection: Connection;
  readonly agentId: AgentId;
  readonly reads: AgentReads;
  readonly log: EventLog;
  readonly codec: PayloadCodec;
  readonly seq: SeqAllocator;
  /** receives what the transaction emits */
  readonly events: CommittedEvent[];
}

/** Prepared once for each open file. Its writes are refused outside a transaction. */
export function createAgentTx(deps: AgentTxDeps): AgentTx {
  const emit = createEmit(deps);
  return {
    ...deps.reads,
    ...writeValues(deps.connection),
    ...writeEntries(deps, emit),
    ...writePrompts(deps.connection, deps.codec),
    ...writeTurns(deps.connection, deps.codec),
    emit: (channel, payload) => void emit(channel, payload),
  };
}

type Emit = (channel: string, payload: JsonObject, seq?: number) => number;

function createEmit(deps: AgentTxDeps): Emit {
  return (channel, payload, taken) => {
    assertInTransaction(deps.connection);
    const event = { seq: taken ?? deps.seq.next(), channel, payload };
    deps.log.append(event);
    deps.events.push(event);
    return event.seq;
  };
}

function writeValues(connection: Connection): Pick<AgentTx, "setValue"> {
  const put = connection.prepare(
    // A replaced row would get another number, and the index of the keys would be written as well.
    `INSERT INTO kv (key, value, sum) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, sum = excluded.sum, rev = rev + 1`,
  );
  return {
    setValue(key, value) {
      assertInTransaction(connection);
      const text = packPayload(value);
      put.run(key, text, rowSum([key], text));
    },
  };
}

function writeEntries(deps: AgentTxDeps, emit: Emit): Pick<AgentTx, "appendEntry" | "updateEntry"> {
  const { connection, agentId } = deps;
  const insert = connection.prepare(
    "INSERT INTO transcript_entries (seq, id, entry, sum) VALUES (?, ?, ?, ?)",
  );
  const update = connection.prepare(
    "UPDATE transcript_entries SET entry = ?, sum = ?, rev = rev + 1 WHERE seq = ?",
  );
  return {
    appendEntry(entry) {
      assertInTransaction(connection);
      const seq = deps.seq.next();
      const placed = withSeq(entry, seq);
      const text = packPayload(placed);
      insert.run(seq, entry.id, text, rowSum([seq, entry.id], text));
      return emit("transcript", { type: "appended", agentId, entry: asPayload(placed) }, seq);
    },
    updateEntry(entry) {
      assertInTransaction(connection);
      const stored = deps.reads.findEntry(entry.id);
      invariant(stored !== undefined, "an updated entry exists");
      const placed = withSeq(entry, stored.seq);
      const text = packPayload(placed);
      update.run(text, rowSum([stored.seq, entry.id], text), stored.seq);
      emit("transcript", { type: "updated", agentId, entry: asPayload(placed) });
    },
  };
}

function writePrompts(
  connection: Connection,
  codec: PayloadCodec,
): Pick<AgentTx, "insertPrompt" | "deliverPrompt"> {
  const insert = connection.prepare(
    `INSERT INTO prompts (${promptColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const known = connection.prepare("SELECT 1 FROM prompts WHERE nonce = ?").pluck();
  const deliver = connection.prepare(
    "UPDATE prompts SET turn_id = ?, turn_sum = ? WHERE prompt_id = ? AND turn_id IS NULL",
  );
  return {
    insertPrompt(row) {
      assertInTransaction(connection);
      invariant(known.get(row.nonce) === undefined, "a nonce is accepted once");
      insert.run(...promptToValues(row, codec));
    },
    deliverPrompt(promptId, turnId) {
      assertInTransaction(connection);
      const { changes } = deliver.run(turnId, deliverySum(promptId, turnId), promptId);
      invariant(changes === 1, "only an undelivered prompt is delivered");
    },
  };
}

function writeTurns(
  connection: Connection,
  codec: PayloadCodec,
): Pick<AgentTx, "insertTurn" | "appendRecord" | "settleTurn"> {
  const insert = connection.prepare(`INSERT INTO turns (${turnColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const open = connection.prepare("SELECT 1 FROM turns WHERE state = 'open'").pluck();
  const newest = connection
    .prepare<unknown[], number>("SELECT coalesce(max(generation), 0) FROM turns")
    .pluck();
  const isOpen = connection
    .prepare("SELECT 1 FROM turns WHERE turn_id = ? AND generation = ? AND state = 'open'")
    .pluck();
  const lastOrdinal = connection
    .prepare<unknown[], number>("SELECT coalesce(max(ordinal), 0) FROM turn_records WHERE turn_id = ?")
    .pluck();
  const append = connection.prepare(
    "INSERT INTO turn_records (turn_id, ordinal, kind, call_id, body, sum) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const settle = connection.prepare(
    "UPDATE turns SET state = 'settled', outcome = ?, settled_at_ms = ?, end_sum = ? WHERE turn_id = ?",
  );

  function assertFence(fence: TurnFence): void {
    if (isOpen.get(fence.turnId, fence.generation) !== undefined) return;
    throw new BoxError("turn/superseded", "the turn isn't the open one any more", {
      details: { turnId: fence.turnId, generation: fence.generation },
    });
  }

  return {
    insertTurn(row) {
      assertInTransaction(connection);
      invariant(row.state === "open", "a turn begins open");
      invariant(open.get() === undefined, "an agent has one open turn");
      invariant(row.generation > (newest.get() ?? 0), "generations rise");
      insert.run(...turnToValues(row));
    },
    appendRecord(fence, record) {
      assertInTransaction(connection);
      assertFence(fence);
      try {
        const ordinal = (lastOrdinal.get(fence.turnId) ?? 0) + 1;
        const text = codec.pack(record, { kind: "row" });
        const call = callOf(record);
        append.run(fence.turnId, ordinal, record.kind, call, text, recordSum(fence.turnId, ordinal, text));
      } catch (error) {
        throw isUniqueViolation(error) && record.kind === "toolSettled" ? lateResult(record, error) : error;
      }
    },
    settleTurn(fence, outcome, atMs) {
      assertInTransaction(connection);
      assertFence(fence);
      settle.run(outcome, atMs, endSum(fence.turnId, outcome, atMs), fence.turnId);
    },
  };
}

function lateResult(record: TurnRecord & { readonly kind: "toolSettled" }, cause: unknown): BoxError {
  return new BoxError("turn/already-settled", "the call has its result already", {
    cause,
    details: { callId: record.result.callId },
  });
}

/** the call that a record speaks of, for the index */
function callOf(record: TurnRecord): string | null {
  if (record.kind === "toolSettled") return record.result.callId;
  return record.kind === "toolIntended" || record.kind === "callReviewed" ? record.callId : null;
}

function withSeq<Entry extends TranscriptEntry>(entry: Entry, seq: number): Entry {
  return { ...entry, seq };
}

/** A copy: an interface isn't taken for an object of JSON, the same fields in a literal are. */
function asPayload(entry: TranscriptEntry): JsonObject {
  return { ...entry };
}

function assertInTransaction(connection: Connection): void {
  invariant(connection.inTransaction, "a store is written inside its transaction only");
}
