/**
 * Serves a client whose queue is full from the hub's ring, at its own pace, until it is live again.
 *
 * A burst may be larger than one client's queue, and a client that reads must not lose its stream for it. While it
 * waits for the client it holds no event, only a number. When the ring no longer has what comes next, the client is
 * too slow for the host and is cut off; one that resumes then reads on from the stores.
 */
import { invariant } from "@sand/protocol";
import type { EventHub } from "./event-hub.ts";
import type { StreamClient } from "./stream-client.ts";

export interface CatchUpDeps {
  readonly hub: Pick<EventHub, "lastSeq" | "recentSince" | "subscribe">;
  wants(channel: string): boolean;
  /** the client has everything that was published; called in the tick in which that is true */
  goLive(): void;
}

const pageMaxEvents = 64;

/** `since`: the `seq` up to which the client has everything that it wants */
export async function catchUp(deps: CatchUpDeps, client: StreamClient, since: number): Promise<void> {
  const { hub } = deps;
  let cursor = since;
  // One that never reads is seen here: it is never drained, and the ring moves on.
  const stopWatching = hub.subscribe(() => {
    if (hub.recentSince(cursor, 0) === undefined) client.cut("too-slow");
  });
  try {
    while (!client.isGone() && cursor < hub.lastSeq()) {
      await client.drained();
      if (!client.isGone()) cursor = sendFromRing(deps, client, cursor);
    }
    deps.goLive();
  } finally {
    stopWatching();
  }
}

/** Returns up to where the client has everything now. */
function sendFromRing({ hub, wants }: CatchUpDeps, client: StreamClient, since: number): number {
  const page = hub.recentSince(since, pageMaxEvents);
  invariant(page !== undefined, "a client whose next event left the ring was cut off");
  let cursor = since;
  for (const event of page) {
    if (event.seq === null) continue;
    const isSent = !wants(event.channel) || client.sendEvent(event);
    event.forgetVariants();
    if (!isSent) return cursor;
    cursor = event.seq;
  }
  return cursor;
}
