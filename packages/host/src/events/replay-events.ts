/**
 * Brings a resuming client from its cursor to the present, without a gap and without a repetition.
 *
 * Live events are ignored while it reads. It asks the hub for the newest published `seq` before each page, and takes
 * nothing newer from a store: up to there everything is committed and readable, whereas a store may already show an
 * event whose elder in another agent's store isn't visible yet. Only when nothing is left below that mark does the
 * client go live, in the same tick as the check, so no event can pass in between.
 */
import { type EncodedEvent, encodeEvent, encodeReset } from "./encoded-event.ts";
import type { EventHub } from "./event-hub.ts";
import { shareLine } from "./frame-bytes.ts";
import type { ReplaySource } from "./replay-source.ts";
import type { StreamClient } from "./stream-client.ts";

export interface ReplayDeps {
  readonly hub: EventHub;
  readonly replay: ReplaySource;
  wants(channel: string): boolean;
  /** the client has everything up to `cursor`; called in the tick in which that is true */
  goLive(cursor: number): void;
}

const pageMaxEvents = 256;

interface ReplayPage {
  readonly events: readonly EncodedEvent[];
  /** everything up to here is in the pages so far */
  readonly through: number;
}

export async function replayEvents(deps: ReplayDeps, client: StreamClient, since: number): Promise<void> {
  let cursor = since;
  if (cursor > deps.hub.lastSeq()) {
    await goOnAfterGap(deps, client, "ahead");
    return;
  }
  while (!client.isGone() && cursor < deps.hub.lastSeq()) {
    const page = await readPage(deps, cursor);
    if (page === undefined) {
      await goOnAfterGap(deps, client, "too-old");
      return;
    }
    for (const event of page.events) {
      if (!deps.wants(event.channel)) continue;
      await client.ready(event.sizeBytes);
      // The frame may be a little larger than the event: by its id, or by a compression that found nothing.
      while (!client.sendEvent(event)) await client.drained();
      event.forgetVariants();
    }
    cursor = page.through;
  }
  deps.goLive(cursor);
}

async function readPage({ hub, replay }: ReplayDeps, since: number): Promise<ReplayPage | undefined> {
  const mark = hub.lastSeq();
  const recent = hub.recentSince(since, pageMaxEvents);
  if (recent !== undefined) return pageOf(recent, mark);
  const stored = await replay.eventsSince(since, pageMaxEvents);
  return stored === undefined
    ? undefined
    : pageOf(stored.filter((event) => event.seq <= mark).map(encodeEvent), mark);
}

/** A page that isn't full reaches the mark: what is missing below it belonged to agents that are deleted. */
function pageOf(events: readonly EncodedEvent[], mark: number): ReplayPage {
  const last = events.length < pageMaxEvents ? undefined : events.at(-1)?.seq;
  return { events, through: last ?? mark };
}

async function goOnAfterGap(
  { hub, goLive }: ReplayDeps,
  client: StreamClient,
  reason: "ahead" | "too-old",
): Promise<void> {
  // A line that doesn't fit is dropped, and this one must not be.
  await client.drained();
  const lastSeq = hub.lastSeq();
  client.sendLine(shareLine(encodeReset(reason, lastSeq)));
  goLive(lastSeq);
}
