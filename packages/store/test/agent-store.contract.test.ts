import type { AgentTx, TurnFence, TurnRecord } from "@sand/agent-core";
import { BoxError, brandId, type CallId, type EntryId, InvariantError } from "@sand/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createStoreRig, message, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

let rig: StoreRig;

beforeEach(() => {
  rig = createStoreRig();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

const fence: TurnFence = { turnId: brandId("turn-1"), generation: 1 };
const boxReady: TurnRecord = { kind: "boxReady", atMs: 3 };

function settled(callId: string, text: string): TurnRecord {
  return {
    kind: "toolSettled",
    result: { callId: brandId<CallId>(callId), outcome: "ok", text, outputHandle: null, details: {} },
    atMs: 9,
  };
}

describe("values", () => {
  test("a value is read back as it was set, also after the store was opened again", async () => {
    const store = rig.open();
    const value = { text: "NUL \0 and \ud800", list: [1, null, true] };
    await store.transact((tx) => tx.setValue("key", value));
    expect(store.read.getValue("key")).toEqual(value);
    expect(store.read.getValue("other")).toBeUndefined();
    await store.close();
    expect(rig.open().read.getValue("key")).toEqual(value);
  });

  test("setting again replaces the value", async () => {
    const store = rig.open();
    await store.transact((tx) => tx.setValue("key", 1));
    await store.transact((tx) => tx.setValue("key", null));
    expect(store.read.getValue("key")).toBeNull();
  });
});

describe("the transcript", () => {
  test("an appended entry gets a fresh seq, which its event and its paging position share", async () => {
    const store = rig.open();
    const { value, events } = await store.transact((tx) => tx.appendEntry(message("e1")));
    const entry = { ...message("e1"), seq: value };
    expect(events).toEqual([
      { seq: value, channel: "transcript", payload: { type: "appended", agentId: "ada", entry } },
    ]);
    expect(store.read.findEntry(brandId<EntryId>("e1"))).toEqual({ seq: value, entry });
    expect(rig.published).toEqual(events);
  });

  test("an updated entry keeps its position and is told under a fresh seq", async () => {
    const store = rig.open();
    const first = await store.transact((tx) => tx.appendEntry(message("e1")));
    await store.transact((tx) => tx.appendEntry(message("e2")));
    const { events } = await store.transact((tx) => tx.updateEntry(message("e1", "changed")));
    const entry = { ...message("e1", "changed"), seq: first.value };
    expect(events).toEqual([
      { seq: 3, channel: "transcript", payload: { type: "updated", agentId: "ada", entry } },
    ]);
    expect(store.read.entriesBefore({ limit: 9 }).entries.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(store.read.findEntry(brandId<EntryId>("e1"))).toEqual({ seq: first.value, entry });
  });

  test("an entry that doesn't exist can't be updated, and an id can't be appended twice", async () => {
    const store = rig.open();
    await expect(store.transact((tx) => tx.updateEntry(message("none")))).rejects.toThrow(InvariantError);
    await store.transact((tx) => tx.appendEntry(message("e1")));
    await expect(store.transact((tx) => tx.appendEntry(message("e1")))).rejects.toThrow();
    expect(store.healthy).toBe(true);
    expect(store.read.entriesBefore({ limit: 9 }).entries).toHaveLength(1);
  });

  test("pages go backwards, oldest first, and say whether older ones exist", async () => {
    const store = rig.open();
    await store.transact((tx) => {
      for (let number = 1; number <= 5; number += 1) tx.appendEntry(message(`e${number}`));
    });
    const ids = (page: { readonly limit: number; readonly beforeSeq?: number }) => {
      const { entries, more } = store.read.entriesBefore(page);
      return { ids: entries.map(({ entry }) => entry.id), more };
    };
    expect(ids({ limit: 2 })).toEqual({ ids: ["e4", "e5"], more: true });
    expect(ids({ limit: 2, beforeSeq: 4 })).toEqual({ ids: ["e2", "e3"], more: true });
    expect(ids({ limit: 2, beforeSeq: 2 })).toEqual({ ids: ["e1"], more: false });
    expect(ids({ limit: 5 })).toEqual({ ids: ["e1", "e2", "e3", "e4", "e5"], more: false });
    expect(ids({ limit: 0 })).toEqual({ ids: [], more: true });
  });
});

describe("prompts", () => {
  test("a prompt waits in order of acceptance until it is delivered, once", async () => {
    const store = rig.open();
    await store.transact((tx) => {
      tx.insertPrompt(promptRow("n1"));
      tx.insertPrompt(promptRow("n2", { whenBusy: "queue", text: "lone \ud800" }));
      tx.insertTurn(turnRow(1));
    });
    expect(store.read.pendingPrompts()).toEqual([
      promptRow("n1"),
      promptRow("n2", { whenBusy: "queue", text: "lone \ud800" }),
    ]);
    await store.transact((tx) => tx.deliverPrompt(brandId("prompt-n1"), fence.turnId));
    expect(store.read.pendingPrompts().map(({ nonce }) => nonce)).toEqual(["n2"]);
    expect(store.read.findPrompt(brandId("n1"))).toEqual(promptRow("n1", { turnId: fence.turnId }));
    const again = store.transact((tx) => tx.deliverPrompt(brandId("prompt-n1"), fence.turnId));
    await expect(again).rejects.toThrow(InvariantError);
  });

  test("a nonce is accepted once", async () => {
    const store = rig.open();
    await store.transact((tx) => tx.insertPrompt(promptRow("n1")));
    const twice = store.transact((tx) => tx.insertPrompt(promptRow("n1", { promptId: brandId("other") })));
    await expect(twice).rejects.toThrow(InvariantError);
    expect(store.read.findPrompt(brandId("n1"))).toEqual(promptRow("n1"));
    expect(store.read.findPrompt(brandId("n2"))).toBeUndefined();
  });
});

describe("turns", () => {
  async function openTurn(generation = 1) {
    const store = rig.open();
    await store.transact((tx) => tx.insertTurn(turnRow(generation)));
    return store;
  }

  test("an agent has one open turn", async () => {
    const store = await openTurn();
    await expect(store.transact((tx) => tx.insertTurn(turnRow(2)))).rejects.toThrow(InvariantError);
    expect(store.read.openTurn()).toEqual(turnRow(1));
  });

  test("generations rise, also after all turns are settled", async () => {
    const store = await openTurn(5);
    const five = { turnId: brandId<TurnFence["turnId"]>("turn-5"), generation: 5 };
    await store.transact((tx) => tx.settleTurn(five, "success", 8));
    const same = store.transact((tx) => tx.insertTurn(turnRow(5, { turnId: brandId("other") })));
    await expect(same).rejects.toThrow(InvariantError);
    await store.transact((tx) => tx.insertTurn(turnRow(6)));
  });

  test("records are read in the order in which they were written", async () => {
    const store = await openTurn();
    await store.transact((tx) => tx.appendRecord(fence, boxReady));
    await store.transact((tx) => {
      tx.appendRecord(fence, settled("c1", "one"));
      tx.appendRecord(fence, { ...boxReady, atMs: 4 });
    });
    expect(store.read.records(fence.turnId)).toEqual([
      boxReady,
      settled("c1", "one"),
      { ...boxReady, atMs: 4 },
    ]);
    expect(store.read.records(brandId("none"))).toEqual([]);
  });

  test.each([
    ["an older generation", { turnId: fence.turnId, generation: 0 }],
    ["a newer generation", { turnId: fence.turnId, generation: 2 }],
    ["another turn", { turnId: brandId<TurnFence["turnId"]>("other"), generation: 1 }],
  ])("INV-3: %s writes nothing", async (_case, stale) => {
    const store = await openTurn();
    const attempts = [
      (tx: AgentTx) => tx.appendRecord(stale, boxReady),
      (tx: AgentTx) => tx.settleTurn(stale, "success", 8),
    ];
    for (const attempt of attempts) {
      await expect(store.transact(attempt)).rejects.toMatchObject({ code: "turn/superseded" });
    }
    expect(store.read.records(fence.turnId)).toEqual([]);
    expect(store.read.openTurn()).toEqual(turnRow(1));
  });

  test("INV-3: a settled turn takes no record, and is settled once", async () => {
    const store = await openTurn();
    await store.transact((tx) => tx.settleTurn(fence, "aborted", 8));
    expect(store.read.openTurn()).toBeUndefined();
    const late = store.transact((tx) => tx.appendRecord(fence, boxReady));
    await expect(late).rejects.toMatchObject({ code: "turn/superseded" });
    const twice = store.transact((tx) => tx.settleTurn(fence, "success", 9));
    await expect(twice).rejects.toMatchObject({ code: "turn/superseded" });
    expect(store.read.settledTurns({ limit: 9 })).toEqual([
      turnRow(1, { state: "settled", outcome: "aborted", settledAtMs: 8 }),
    ]);
  });

  test("a call has one result: a late second one is refused and the first stays", async () => {
    const store = await openTurn();
    await store.transact((tx) => tx.appendRecord(fence, settled("c1", "one")));
    const late = store.transact((tx) => tx.appendRecord(fence, settled("c1", "two")));
    await expect(late).rejects.toMatchObject({ code: "turn/already-settled", details: { callId: "c1" } });
    await expect(late).rejects.toThrow(BoxError);
    expect(store.read.records(fence.turnId)).toEqual([settled("c1", "one")]);
  });

  test("one call may be reviewed, intended and settled", async () => {
    const store = await openTurn();
    const callId = brandId<CallId>("c1");
    const records: readonly TurnRecord[] = [
      { kind: "callReviewed", callId, verdict: "allow", rule: "all", atMs: 1 },
      { kind: "toolIntended", callId, executionId: brandId("x1"), replay: "keyed", atMs: 2 },
      settled("c1", "one"),
    ];
    await store.transact((tx) => {
      for (const record of records) tx.appendRecord(fence, record);
    });
    expect(store.read.records(fence.turnId)).toEqual(records);
  });

  test("settled turns are read newest first, page by page", async () => {
    const store = rig.open();
    for (const generation of [1, 2, 3]) {
      const turn = turnRow(generation);
      await store.transact((tx) => {
        tx.insertTurn(turn);
        tx.settleTurn(turn, "success", 8);
      });
    }
    const generations = (page: { readonly limit: number; readonly beforeGeneration?: number }) =>
      store.read.settledTurns(page).map(({ generation }) => generation);
    expect(generations({ limit: 2 })).toEqual([3, 2]);
    expect(generations({ limit: 2, beforeGeneration: 2 })).toEqual([1]);
  });
});

describe("transactions", () => {
  test("a change reads its own writes", async () => {
    const store = rig.open();
    const { value } = await store.transact((tx) => {
      tx.setValue("key", "new");
      tx.insertTurn(turnRow(1));
      tx.appendRecord(fence, boxReady);
      const seq = tx.appendEntry(message("e1"));
      return {
        value: tx.getValue("key"),
        turn: tx.openTurn()?.generation,
        records: tx.records(fence.turnId),
        found: tx.findEntry(brandId("e1"))?.seq === seq,
        last: tx.lastSeq() === seq,
      };
    });
    expect(value).toEqual({ value: "new", turn: 1, records: [boxReady], found: true, last: true });
  });

  test("a change that throws leaves nothing, publishes nothing and hurts no other of its tick", async () => {
    const store = rig.open();
    const mine = new TypeError("mine");
    const results = await Promise.allSettled([
      store.transact((tx) => tx.appendEntry(message("before"))),
      store.transact((tx) => {
        tx.appendEntry(message("undone"));
        tx.setValue("undone", true);
        tx.insertTurn(turnRow(1));
        throw mine;
      }),
      store.transact((tx) => tx.appendEntry(message("after"))),
    ]);
    expect(results[1]).toEqual({ status: "rejected", reason: mine });
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(store.read.entriesBefore({ limit: 9 }).entries.map(({ entry }) => entry.id)).toEqual([
      "before",
      "after",
    ]);
    expect(store.read.getValue("undone")).toBeUndefined();
    expect(store.read.openTurn()).toBeUndefined();
    expect(JSON.stringify(rig.published)).not.toContain("undone");
  });

  test("the promise resolves after the events were published", async () => {
    const store = rig.open();
    await store
      .transact((tx) => tx.appendEntry(message("e1")))
      .then(() => {
        expect(rig.published).toHaveLength(1);
      });
  });

  test("seq rises in the order of commits over all agents, and that is the order of publishing", async () => {
    const stores = ["ada", "bob", "cyd"].map((agentId) => rig.open(agentId));
    const changes = Array.from({ length: 20 }, (_, number) =>
      stores.map((store) =>
        store.transact((tx) => {
          tx.emit("test", { number });
          tx.appendEntry(message(`e${number}`));
        }),
      ),
    );
    await Promise.all(changes.flat());
    const order = rig.published.map(({ seq }) => seq);
    expect(order).toHaveLength(120);
    expect(order).toEqual([...order].sort((left, right) => left - right));
    expect(new Set(order).size).toBe(120);
  });

  test("a listener that throws is reported, and the writer hears that its change is stored", async () => {
    const store = rig.open("ada", {
      onCommitted() {
        throw new Error("listener");
      },
    });
    await expect(store.transact((tx) => tx.appendEntry(message("e1")))).resolves.toMatchObject({ value: 1 });
    expect(rig.logged.join("")).toContain("store.publish-failed");
  });

  test("a transaction that is kept and used later writes nothing", async () => {
    const store = rig.open();
    const { value: kept } = await store.transact((tx) => tx);
    expect(() => kept.setValue("late", 1)).toThrow(InvariantError);
    expect(() => kept.emit("late", {})).toThrow(InvariantError);
    expect(store.read.getValue("late")).toBeUndefined();
  });

  test("a closed store takes no change, and closing stores what was asked for before", async () => {
    const store = rig.open();
    const last = store.transact((tx) => tx.setValue("last", 1));
    await store.close();
    await last;
    await expect(store.transact((tx) => tx.setValue("late", 1))).rejects.toMatchObject({
      code: "store/unavailable",
    });
    expect(store.healthy).toBe(false);
    expect(rig.open().read.getValue("last")).toBe(1);
  });
});

describe("events", () => {
  test("events after a cursor come oldest first, up to the limit, also after a restart", async () => {
    const store = rig.open();
    await store.transact((tx) => {
      for (let number = 1; number <= 5; number += 1) tx.emit("test", { number });
    });
    const numbers = (since: number, limit: number) =>
      rig
        .open()
        .eventsSince(since, limit)
        ?.map(({ payload }) => payload.number);
    await store.close();
    expect(numbers(0, 9)).toEqual([1, 2, 3, 4, 5]);
    expect(numbers(2, 2)).toEqual([3, 4]);
    expect(numbers(5, 9)).toEqual([]);
  });

  test("old events are trimmed, the newest are kept, and a cursor before the gap is told", async () => {
    const store = rig.open();
    for (let group = 0; group < 7; group += 1) {
      await store.transact((tx) => {
        for (let number = 0; number < 1_000; number += 1) tx.emit("test", { number });
      });
    }
    const floor = 7_000 - 5_000;
    expect(store.eventsSince(0, 9)).toBeUndefined();
    expect(store.eventsSince(floor - 1, 9)).toBeUndefined();
    expect(store.eventsSince(floor, 9)?.[0]?.seq).toBe(floor + 1);
    expect(store.eventsSince(floor, 9_999)).toHaveLength(5_000);
    expect(store.read.lastSeq()).toBe(7_000);
    await store.close();
    const again = rig.open();
    expect(again.eventsSince(floor - 1, 9)).toBeUndefined();
    expect(again.eventsSince(floor, 9_999)).toHaveLength(5_000);
  });

  test("the last seq is that of the newest event, 0 for a fresh store", async () => {
    const store = rig.open();
    expect(store.read.lastSeq()).toBe(0);
    await store.transact((tx) => tx.emit("test", {}));
    expect(store.read.lastSeq()).toBe(1);
  });
});
