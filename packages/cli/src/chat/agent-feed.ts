/**
 * Follows one agent: its entries, its streamed text and whether it runs.
 *
 * What is durable is never missed: after each connection the newest entries and the summary are read again and passed
 * on, and the receiver drops what it knows. What is transient may be missed during an outage, and is only decoration.
 *
 * A turn counts as over when the roster, asked after the prompt was accepted, says that the agent is idle: an "idle"
 * from the stream alone may be older than the prompt.
 */
import type { Clock } from "@sand/protocol";
import { findSummary } from "../gateway/agent-rows.ts";
import { openEventStream, type StreamItem } from "../gateway/event-stream.ts";
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
  /** resolves with true once the agent is idle; with false when `limit` aborts before */
  waitUntilIdle(limit: AbortSignal): Promise<boolean>;
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
  const { agentId, clock } = options;
  const connected = Promise.withResolvers<void>();
  // Whoever doesn't wait for it learns of the failure by `done`.
  connected.promise.catch(() => undefined);
  let wake: (() => void) | undefined;
  let newestSeq: number | undefined;

  const pass = (event: FeedEvent): void => {
    if (event.kind === "running" && !event.isRunning) wake?.();
    if (event.kind === "entry" && event.entry.seq !== undefined) {
      newestSeq = Math.max(newestSeq ?? 0, event.entry.seq);
    }
    options.onEvent(event);
  };
  const readTail = async (): Promise<void> => {
    for (const entry of await readTailEntries(options)) pass({ kind: "entry", entry });
  };
  const look = async (): Promise<boolean> => {
    const summary = await findSummary(options.access.client(), agentId, options.signal);
    const event = summary === undefined ? undefined : readSummary(summary, agentId);
    if (event === undefined) return true;
    pass(event);
    return event.kind === "running" && !event.isRunning;
  };
  const onItem = async (item: StreamItem, state: FollowState): Promise<void> => {
    if (item.kind === "event") {
      if (item.channel === "reset") await readTail();
      const event = readFrame(item.channel, item.payload, agentId);
      if (event !== undefined) pass(event);
    } else if (item.kind === "lost") {
      if (state.isUp) pass({ kind: "connection", state: "lost" });
      state.isUp = false;
    } else {
      if (state.wasUp && !state.isUp) pass({ kind: "connection", state: "restored" });
      if (state.wasUp) await Promise.all([readTail(), look()]).catch(leaveToNextConnection);
      state.isUp = true;
      state.wasUp = true;
      connected.resolve();
    }
  };

  const done = follow(options, () => newestSeq, onItem);
  done.catch((error: unknown) => connected.reject(error));
  return {
    connected: connected.promise,
    done,
    waitUntilIdle: async (limit) => {
      while (!limit.aborted) {
        if (await look().catch(falseWhenOut)) {
          await readTail();
          return true;
        }
        const pause = new AbortController();
        wake = () => pause.abort();
        await clock.sleep(lookEveryMs, AbortSignal.any([limit, pause.signal]));
        wake = undefined;
      }
      return false;
    },
  };
}

interface FollowState {
  isUp: boolean;
  wasUp: boolean;
}

async function follow(
  { access, clock, signal }: AgentFeedOptions,
  since: () => number | undefined,
  onItem: (item: StreamItem, state: FollowState) => Promise<void>,
): Promise<void> {
  const state: FollowState = { isUp: false, wasUp: false };
  const relocate = () => access.relocate().location;
  const { location } = access.client();
  const stream = openEventStream({ location, channels: feedChannels, clock, signal, since, relocate });
  for await (const item of stream) await onItem(item, state);
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

/** The host is gone again already: the stream will end too, and the next connection looks once more. */
function leaveToNextConnection(): void {}

/** An outage is waited for; a refusal isn't. */
function falseWhenOut(error: unknown): false {
  const isOutage =
    error instanceof Error &&
    "exit" in error &&
    (error.exit === "notRunning" || error.exit === "serverError");
  if (!isOutage) throw error;
  return false;
}
