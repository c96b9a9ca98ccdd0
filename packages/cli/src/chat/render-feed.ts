/**
 * Turns feed events into the text that a person reads. It remembers what is on screen: which text of the step has been
 * streamed, which call's output is shown, and how each entry looked last, so that nothing appears twice.
 *
 * Entries may come again, and in an older state: after a reconnect the log is replayed and the transcript read anew.
 * A settled call therefore never goes back to running.
 */
import { plainText } from "../plain-text.ts";
import type { Paint } from "../terminal.ts";
import { createCallBlocks, isSettledCall } from "./call-blocks.ts";
import type { FeedEntry, FeedEvent } from "./feed-event.ts";
import { createStepText } from "./step-text.ts";

export interface FeedRenderer {
  /** the text to print for this event, perhaps empty */
  render(event: FeedEvent): string;
  /** takes an entry for granted: it was there before we came */
  skip(entry: FeedEntry): void;
}

export interface FeedRendererOptions {
  readonly paint: Paint;
  /** prompts that this program sent itself: the person has just typed them */
  readonly isOwnNonce: (nonce: string) => boolean;
}

const rememberedEntriesMax = 5_000;

const connectionLines = {
  lost: "… the host doesn't answer; waiting for it",
  restored: "… the host is back",
} as const;

export function createFeedRenderer({ paint, isOwnNonce }: FeedRendererOptions): FeedRenderer {
  const isNews = createEntryMemory();
  const step = createStepText();
  const calls = createCallBlocks(paint, step);

  const renderEntry = (entry: FeedEntry): string => {
    if (!isNews(entry)) return "";
    switch (entry.kind) {
      case "tool-call":
        return calls.entry(entry);
      case "send-message":
        return step.settle(entry.text);
      case "notice":
        return `${step.end()}${paint(entry.level === "error" ? "red" : "yellow", `! ${plainText(entry.text)}`)}\n`;
      case "message":
        if (entry.clientNonce !== undefined && isOwnNonce(entry.clientNonce)) return "";
        return `${step.end()}${paint("dim", `${entry.role === "user" ? "you" : entry.role}: ${plainText(entry.text)}`)}\n`;
      default:
        return "";
    }
  };

  return {
    skip: (entry) => void isNews(entry),
    render: (event) => {
      switch (event.kind) {
        case "entry":
          return renderEntry(event.entry);
        case "text":
          return step.stream(event.text);
        case "output":
          return calls.output(event.callId, event.text);
        case "running":
          return event.isRunning ? "" : step.closeLine();
        case "connection":
          return `${step.closeLine()}${paint("yellow", connectionLines[event.state])}\n`;
      }
    },
  };
}

/** Tells whether an entry shows anything that the last look at it didn't. */
function createEntryMemory(): (entry: FeedEntry) => boolean {
  const looks = new Map<string, { readonly look: string; readonly settled: boolean }>();
  return (entry) => {
    const look = `${entry.kind} ${entry.status} ${entry.text}`;
    const settled = entry.kind !== "tool-call" || isSettledCall(entry.status);
    const before = looks.get(entry.id);
    if (before !== undefined && (before.look === look || (before.settled && !settled))) return false;
    looks.delete(entry.id);
    looks.set(entry.id, { look, settled });
    const oldest = looks.keys().next();
    if (looks.size > rememberedEntriesMax && oldest.done !== true) looks.delete(oldest.value);
    return true;
  };
}
