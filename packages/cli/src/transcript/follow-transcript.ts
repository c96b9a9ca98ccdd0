/**
 * Shows what is added to a transcript, until the program ends. The stream begins behind the newest entry that was
 * shown, so nothing falls between; where the host can't fill a gap, the transcript is read again.
 */
import type { Clock } from "@sand/protocol";
import { feedChannels, fieldsOf } from "../chat/feed-event.ts";
import { openEventStream } from "../gateway/event-stream.ts";
import type { GatewayAccess } from "../gateway/gateway-access.ts";
import type { Terminal } from "../terminal.ts";
import { readBackTo } from "./transcript-pages.ts";
import type { TranscriptView } from "./transcript-view.ts";

export interface FollowOptions {
  readonly access: GatewayAccess;
  readonly agentId: string;
  readonly clock: Clock;
  readonly terminal: Terminal;
  readonly view: TranscriptView;
}

export async function followTranscript({
  access,
  agentId,
  clock,
  terminal,
  view,
}: FollowOptions): Promise<void> {
  const stream = openEventStream({
    location: access.client().location,
    channels: [...(terminal.json ? ["transcript"] : feedChannels), "reset"],
    clock,
    signal: new AbortController().signal,
    since: () => view.newestSeq() ?? 0,
    relocate: () => access.relocate().location,
  });
  let isUp = true;
  for await (const item of stream) {
    if (item.kind !== "event") {
      const state = item.kind === "lost" ? "lost" : "restored";
      if (isUp !== (state === "restored")) view.connection(state);
      isUp = state === "restored";
      continue;
    }
    const { channel, payload } = item;
    if (channel === "reset") {
      const of = { client: access.client(), agentId };
      const missed = await readBackTo(of, view.newestSeq() ?? 0);
      for (const entry of missed.filter((one) => !view.isOlder(one))) view.entry(entry);
    } else if (channel === "transcript" && payload.agentId === agentId && payload.entry !== undefined) {
      view.entry(fieldsOf(payload.entry));
    } else view.frame(channel, payload, agentId);
  }
}
