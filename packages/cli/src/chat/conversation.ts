/**
 * A conversation with one agent: prompts go in, what happens comes out on screen. Everything that talks to an agent
 * (`send --wait`, `chat` by hand, `chat` with a file as input) is a loop around this.
 */
import type { Clock } from "@sand/protocol";
import type { GatewayAccess } from "../gateway/gateway-access.ts";
import { type BusyChoice, sendPrompt } from "../gateway/send-prompt.ts";
import type { Terminal } from "../terminal.ts";
import { readTailEntries, startAgentFeed } from "./agent-feed.ts";
import type { FeedEntry, FeedEvent } from "./feed-event.ts";
import { createFeedRenderer } from "./render-feed.ts";

export interface ConversationOptions {
  readonly terminal: Terminal;
  readonly access: GatewayAccess;
  readonly agentId: string;
  readonly clock: Clock;
  /** where text goes, instead of straight to the terminal: a line being typed has to step aside */
  readonly print?: (text: string) => void;
  /** called when the agent begins to work, whoever asked it to */
  readonly onRunning?: () => void;
}

export interface Submission {
  readonly text: string;
  readonly nonce: string;
  readonly whenBusy?: BusyChoice;
}

export interface Conversation {
  readonly agentId: string;
  /** the newest entries from before we came, oldest first; they aren't printed */
  readonly earlier: readonly FeedEntry[];
  submit(prompt: Submission): Promise<void>;
  /** true once the agent is idle; false when `limit` aborts before */
  waitUntilIdle(limit: AbortSignal): Promise<boolean>;
  /** whether an error was reported since the last submission */
  hasFailed(): boolean;
  interrupt(): void;
  /** rejects when events can't be had any more */
  readonly done: Promise<void>;
  close(): Promise<void>;
}

const rememberedNoncesMax = 1_000;

export async function openConversation(options: ConversationOptions): Promise<Conversation> {
  const { terminal, access, agentId, clock } = options;
  const print = options.print ?? terminal.write;
  const closing = new AbortController();
  const nonces = new Set<string>();
  const renderer = createFeedRenderer({ paint: terminal.paint, isOwnNonce: (nonce) => nonces.has(nonce) });
  const earlier = await readTailEntries({ access, agentId, signal: closing.signal });
  let old = new Set(earlier.map((entry) => entry.id));
  let failed = false;

  const onEvent = (event: FeedEvent): void => {
    if (event.kind === "entry") {
      if (old.has(event.entry.id)) return;
      if (event.entry.kind === "notice" && event.entry.level === "error") failed = true;
    }
    terminal.result(event);
    const text = renderer.render(event);
    if (text !== "") print(text);
    if (event.kind === "running" && event.isRunning) options.onRunning?.();
  };
  const feed = startAgentFeed({ access, agentId, clock, signal: closing.signal, onEvent });
  await feed.connected;

  return {
    agentId,
    earlier,
    done: feed.done,
    hasFailed: () => failed,
    submit: async (prompt) => {
      failed = false;
      rememberNonce(nonces, prompt.nonce);
      // A prompt that was sent before under this nonce has its answer among what was there: that is news after all.
      const sentBefore = earlier.findIndex((entry) => entry.clientNonce === prompt.nonce);
      if (sentBefore !== -1) old = new Set(earlier.slice(0, sentBefore).map((entry) => entry.id));
      await sendPrompt(access, { agentId, ...prompt }, clock);
    },
    waitUntilIdle: (limit) => {
      const over = AbortSignal.any([limit, closing.signal]);
      return Promise.race([feed.waitUntilIdle(over), feed.done.then(() => false)]);
    },
    interrupt: () => {
      access
        .client()
        .call("interruptAgentRun", { id: agentId })
        .catch((error: unknown) => {
          terminal.note(
            `the turn could not be interrupted: ${error instanceof Error ? error.message : String(error)}`,
          );
        });
    },
    close: async () => {
      closing.abort();
      await feed.done.catch(() => undefined);
    },
  };
}

function rememberNonce(nonces: Set<string>, nonce: string): void {
  nonces.add(nonce);
  const [oldest] = nonces;
  if (nonces.size > rememberedNoncesMax && oldest !== undefined) nonces.delete(oldest);
}
