import type { AgentStore, HostIndex, IndexedAgent } from "@sand/agent-core";
import { type AgentId, BoxError, brandId, type CommittedEvent, type ErrorCode } from "@sand/protocol";
import { expect, test } from "vitest";
import { createHostReplay } from "./host-replay.ts";

const event = (seq: number): CommittedEvent => ({ seq, channel: "c", payload: {} });

interface Stored {
  readonly seqs?: readonly number[];
  readonly fails?: ErrorCode;
}

function replayOf(stores: Record<string, Stored>, hostSeqs: readonly number[], floor = 0) {
  const opened: string[] = [];
  const rows = Object.entries(stores).map(
    ([id, { seqs }]): IndexedAgent => ({
      agentId: brandId<AgentId>(id),
      summary: {},
      lastSeq: seqs?.at(-1) ?? 100,
      hasOpenTurn: false,
    }),
  );
  const after = (seqs: readonly number[], since: number, limit: number) =>
    seqs
      .filter((seq) => seq > since)
      .slice(0, limit)
      .map(event);
  const index: Pick<HostIndex, "resumeFloor" | "agents" | "hostEventsSince"> = {
    resumeFloor: () => floor,
    agents: () => rows,
    hostEventsSince: (since, limit) => after(hostSeqs, since, limit),
  };
  const replay = createHostReplay({
    index,
    async openStore(agentId): Promise<Pick<AgentStore, "eventsSince">> {
      opened.push(agentId);
      const { fails, seqs } = stores[agentId] ?? {};
      if (fails !== undefined) throw new BoxError(fails, "planned");
      return { eventsSince: (since, limit) => after(seqs ?? [], since, limit) };
    },
  });
  const since = async (seq: number, limit: number) =>
    (await replay.eventsSince(seq, limit))?.map((row) => row.seq);
  return { since, opened };
}

test("the events of all agents and of the host come in one order, the oldest first", async () => {
  const { since } = replayOf({ a: { seqs: [2, 5, 9] }, b: { seqs: [3, 4] } }, [1, 7]);
  expect(await since(0, 99)).toEqual([1, 2, 3, 4, 5, 7, 9]);
  expect(await since(2, 3)).toEqual([3, 4, 5]);
});

test("agents without anything new are not opened", async () => {
  const { since, opened } = replayOf({ a: { seqs: [2] }, b: { seqs: [9] } }, []);
  await since(2, 99);
  expect(opened).toEqual(["b"]);
});

test("a cursor below the floor can't be resumed", async () => {
  const { since } = replayOf({}, [], 5);
  expect([await since(4, 9), await since(5, 9)]).toEqual([undefined, []]);
});

test("an agent that was deleted meanwhile is passed over, and one that can't be read is a gap", async () => {
  const gone = replayOf({ a: { seqs: [2] }, b: { fails: "gateway/agent-not-found" } }, []);
  const damaged = replayOf({ a: { seqs: [2] }, b: { fails: "store/damaged" } }, []);
  expect([await gone.since(0, 9), await damaged.since(0, 9)]).toEqual([[2], undefined]);
});
