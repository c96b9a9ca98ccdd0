/**
 * Follows one agent: its entries, its streamed text and whether it runs.
 *
 * What is durable is never missed: after each connection the newest entries and the summary are read again and passed
 * on, and the receiver drops what it knows. What is transient may be missed during an outage, and is only decoration.
 *
 * A turn counts as over when the agent is said to be idle and the roster, asked afterwards, says the same: a single
 * "idle" may be older than the prompt that was just accepted.
 */
import type { Clock } from "@sand/protocol";
import { findSummary } from "../gateway/agent-rows.ts";
import { openEventStream } from "../gateway/event-stream.ts";
import type { GatewayAccess } from "../gateway/gateway-access.ts";
import {
  type FeedEntry,
  type FeedEvent,
  feedChannels,
  fieldsOf,
  readEntry,
  readFrame,
  readSummary,
} from "./feed-event.ts";

export interface AgentFeed {
  /** resolves when events arrive; rejects when the stream is refused for good */
  readonly connected: Promise<void>;
  /** resolves with true once the agent is idle, by two looks; with false when `signal` aborts before */
  waitUntilIdle(signal: AbortSignal): Promise<boolean>;
  readonly isRunning: boolean;
  /** settles when the feed has ended; rejects with what ended it */
  readonly done: Promise<void>;
}

export interface AgentFeedOptions {
  readonly access: GatewayAccess;
  readonly agentId: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onEvent: (event: FeedEvent) => void;
}

const tailLimit = 100;
/** how often an agent that was not heard of is looked at */
const lookEveryMs = 3_000;

export function startAgentFeed(options: AgentFeedOptions): AgentFeed {
  const { access, agentId, signal, clock } = options;
  let running = false;
  let connectedOnce = false;
  let wake: (() => void) | undefined;
  let newestSeq: number | undefined;
  const connected = Promise.withResolvers<void>();
  // Whoever doesn't wait for it learns of the failure by `done`.
  connected.promise.catch(() => undefined);

  const pass = (event: FeedEvent): void => {
    if (event.kind === "running") {
      running = event.isRunning;
      if (!running) wake?.();
    }
    if (event.kind === "entry" && event.entry.seq !== undefined)
      newestSeq = Math.max(newestSeq ?? 0, event.entry.seq);
    options.onEvent(event);
  };
  const look = async (): Promise<boolean> => {
    const summary = await findSummary(access.client(), agentId, signal);
    const event = summary === undefined ? undefined : readSummary(summary, agentId);
    if (event === undefined) return true;
    pass(event);
    return event.kind === "running" && !event.isRunning;
  };
  const readTail = async (): Promise<void> => {
    for (const entry of await readTailEntries(options)) pass({ kind: "entry", entry });
  };

  const follow = async (): Promise<void> => {
    const stream = openEventStream({
      location: access.client().location,
      channels: feedChannels,
      clock,
      signal,
      since: () => newestSeq,
      relocate: () => access.relocate().location,
    });
    let said = false;
    for await (const item of stream) {
      if (item.kind === "event") {
        const event = readFrame(item.channel, item.payload, agentId);
        if (event !== undefined) pass(event);
        else if (item.channel === "reset") await readTail();
      } else if (item.kind === "lost") {
        if (!said && connectedOnce) pass({ kind: "connection", state: "lost" });
        said = true;
      } else {
        if (connectedOnce) await refresh();
        connectedOnce = true;
        connected.resolve();
        said = false;
      }
    }
  };
  const refresh = async (): Promise<void> => {
    pass({ kind: "connection", state: "restored" });
    try {
      await readTail();
      await look();
    } catch {
      // Gone again already: the stream will end too, and the next connection looks once more.
    }
  };

  const done = follow();
  done.catch((error: unknown) => connected.reject(error));

  return {
    connected: connected.promise,
    done,
    get isRunning() {
      return running;
    },
    waitUntilIdle: async (until) => {
      while (!until.aborted) {
        try {
          if (await look()) {
            await readTail();
            return true;
          }
        } catch (error) {
          if (!isOutage(error)) throw error;
        }
        await new Promise<void>((resolve) => {
          const pause = new AbortController();
          wake = () => pause.abort();
          void clock.sleep(lookEveryMs, AbortSignal.any([until, pause.signal])).then(resolve);
        });
        wake = undefined;
      }
      return false;
    },
  };
}

export async function readTailEntries(
  options: Pick<AgentFeedOptions, "access" | "agentId" | "signal">,
): Promise<readonly FeedEntry[]> {
  const page = fieldsOf(
    await options.access
      .client()
      .call("getAgentTranscriptTail", { id: options.agentId, limit: tailLimit }, options.signal),
  );
  const rows: readonly unknown[] = Array.isArray(page.entries) ? page.entries : [];
  return rows.map(readEntry).filter((entry) => entry !== undefined);
}

/** An outage is waited for; a refusal isn't. */
function isOutage(error: unknown): boolean {
  return (
    error instanceof Error && "exit" in error && (error.exit === "notRunning" || error.exit === "serverError")
  );
}
