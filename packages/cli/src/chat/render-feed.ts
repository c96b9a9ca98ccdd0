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
const providerCodes: ReadonlySet<string> = new Set([
  "inference/unavailable",
  "inference/unauthorized",
  "inference/refused",
]);
const providerHint =
  "check the provider's settings (key, SAND_INFERENCE_BASE_URL, SAND_INFERENCE_MODEL), then sand down and sand up";
const retryLine = "… the model provider failed; trying again";

export function createFeedRenderer({ paint, isOwnNonce }: FeedRendererOptions): FeedRenderer {
  const isNews = createEntryMemory();
  const step = createStepText();
  const calls = createCallBlocks(paint, step);
  let saidRetrying = false;

  // One line for each wait, however often the agent is looked at meanwhile.
  const renderRunning = (isRunning: boolean, isRetrying: boolean): string => {
    const isNew = isRunning && isRetrying && !saidRetrying;
    saidRetrying = isRunning && isRetrying;
    if (isNew) return `${step.closeLine()}${paint("yellow", retryLine)}\n`;
    return isRunning ? "" : step.closeLine();
  };

  const renderEntry = (entry: FeedEntry): string => {
    if (!isNews(entry)) return "";
    switch (entry.kind) {
      case "tool-call":
        return calls.entry(entry);
      case "send-message":
        return step.settle(entry.text);
      case "notice":
        return `${step.end()}${paint(entry.level === "error" ? "red" : "yellow", `! ${plainText(entry.text)}`)}\n${hintOf(entry)}`;
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
          return renderRunning(event.isRunning, event.isRetrying);
        case "connection":
          return `${step.closeLine()}${paint("yellow", connectionLines[event.state])}\n`;
      }
    },
  };
}

/** What a person can do about a provider that takes nothing from us, which isn't known where the notice is written. */
function hintOf({ level, code }: FeedEntry): string {
  return level === "error" && providerCodes.has(code) ? `  ${providerHint}\n` : "";
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
