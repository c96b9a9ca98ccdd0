import type { CommittedEvent } from "@sand/protocol";
import { expect, test } from "vitest";
import type { EncodedEvent } from "./encoded-event.ts";
import { createEventHub } from "./event-hub.ts";
import { replayEvents } from "./replay-events.ts";
import type { ReplaySource } from "./replay-source.ts";
import type { StreamClient } from "./stream-client.ts";

function event(seq: number): CommittedEvent {
  return { seq, channel: "transcript", payload: { seq } };
}

/** A client that remembers what it was sent. */
function recordingClient(ready: () => Promise<void> = async () => undefined) {
  const seqs: number[] = [];
  const lines: string[] = [];
  const client: StreamClient = {
    variant: { withId: true, slim: false, gzip: false },
    pendingBytes: () => 0,
    stalledSinceMs: () => undefined,
    sendEvent: (sent) => seqs.push(sent.seq ?? -1) > 0,
    sendLine: (line) => lines.push(line.frame(false).plain.toString()),
    hold: () => undefined,
    release: () => undefined,
    ready,
    drained: async () => undefined,
    end: () => undefined,
    cut: () => undefined,
    isGone: () => false,
  };
  return { client, seqs, lines };
}

function sourceOf(log: readonly CommittedEvent[], floor = 0): ReplaySource {
  return {
    eventsSince: async (since, limit) =>
      since < floor ? undefined : log.filter((row) => row.seq > since).slice(0, limit),
  };
}

/** Replays, then goes on live as the streams do: nothing at or below the cursor is sent again. */
async function follow(
  log: CommittedEvent[],
  since: number,
  publishWhile: (step: number) => CommittedEvent[],
) {
  const hub = createEventHub({ lastSeq: log.at(-1)?.seq ?? 0, ringMaxEvents: 2 });
  let step = 0;
  const publishSome = () => {
    const fresh = publishWhile(step);
    step += 1;
    log.push(...fresh);
    hub.publish(fresh);
  };
  const recorded = recordingClient(async () => publishSome());
  let cursor: number | undefined;
  hub.subscribe((live: EncodedEvent) => {
    if (cursor === undefined || live.seq === null || live.seq <= cursor) return;
    cursor = live.seq;
    recorded.seqs.push(live.seq);
  });
  const replay: ReplaySource = {
    async eventsSince(from, limit) {
      publishSome();
      const page = await sourceOf(log).eventsSince(from, limit);
      publishSome();
      return page;
    },
  };
  await replayEvents(
    { hub, replay, wants: () => true, goLive: (at) => (cursor = at) },
    recorded.client,
    since,
  );
  publishSome();
  return recorded;
}

test("from every cursor, whatever is published meanwhile arrives once and in order", async () => {
  for (let since = 0; since <= 12; since += 1) {
    const log = [1, 2, 3, 5, 8, 12].map(event);
    let next = 12;
    const fresh = (step: number) => {
      next += 1 + (step % 3);
      return step < 7 ? [event(next)] : [];
    };
    const { seqs } = await follow(log, since, fresh);
    expect(seqs).toEqual(log.map((row) => row.seq).filter((seq) => seq > since));
  }
});

test("an event that a store shows before its elder is published is not taken from the store", async () => {
  const hub = createEventHub({ lastSeq: 10 });
  const { client, seqs } = recordingClient();
  let cursor = -1;
  // Event 12 is readable already, while 11 of another agent is committed a moment later.
  const replay = sourceOf([event(10), event(12)]);
  await replayEvents({ hub, replay, wants: () => true, goLive: (at) => (cursor = at) }, client, 9);
  expect({ seqs, cursor }).toEqual({ seqs: [10], cursor: 10 });
});

test("more than one page is replayed whole", async () => {
  const log = Array.from({ length: 1_000 }, (_, index) => event(index + 1));
  const { seqs } = await follow(log, 0, () => []);
  expect(seqs).toEqual(log.map((row) => row.seq));
});

test("a cursor that is too old gets a reset and goes on from now", async () => {
  const hub = createEventHub({ lastSeq: 50 });
  const { client, seqs, lines } = recordingClient();
  let cursor = -1;
  const replay = sourceOf([event(50)], 20);
  await replayEvents({ hub, replay, wants: () => true, goLive: (at) => (cursor = at) }, client, 19);
  expect({ seqs, cursor }).toEqual({ seqs: [], cursor: 50 });
  expect(lines).toEqual([
    'id: 50\ndata: {"channel":"reset","payload":{"reason":"too-old","lastSeq":50}}\n\n',
  ]);
});

test("a cursor from another host's future gets a reset", async () => {
  const hub = createEventHub({ lastSeq: 5 });
  const { client, lines } = recordingClient();
  await replayEvents({ hub, replay: sourceOf([]), wants: () => true, goLive: () => undefined }, client, 6);
  expect(lines).toEqual(['id: 5\ndata: {"channel":"reset","payload":{"reason":"ahead","lastSeq":5}}\n\n']);
});

test("events of deleted agents are passed over without an endless search", async () => {
  const hub = createEventHub({ lastSeq: 50 });
  const { client, seqs } = recordingClient();
  let cursor = -1;
  await replayEvents(
    { hub, replay: sourceOf([event(7)]), wants: () => true, goLive: (at) => (cursor = at) },
    client,
    3,
  );
  expect({ seqs, cursor }).toEqual({ seqs: [7], cursor: 50 });
});

test("channels that the client did not ask for are passed over", async () => {
  const hub = createEventHub({ lastSeq: 0 });
  hub.publish([event(1), { ...event(2), channel: "agents" }, event(3)]);
  const { client, seqs } = recordingClient();
  const wants = (channel: string) => channel === "agents";
  await replayEvents({ hub, replay: sourceOf([]), wants, goLive: () => undefined }, client, 0);
  expect(seqs).toEqual([2]);
});
