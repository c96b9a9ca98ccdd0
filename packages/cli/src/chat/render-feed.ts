/**
 * Turns feed events into the text that a person reads. It remembers what is on screen: which text of the step has been
 * streamed, which call's output is shown, and how each entry looked last, so that nothing appears twice.
 *
 * Entries may come again, and in an older state: after a reconnect the log is replayed and the transcript read anew.
 * A settled call therefore never goes back to running.
 */
import { plainText } from "../plain-text.ts";
import type { Paint } from "../terminal.ts";
import type { FeedEntry, FeedEvent } from "./feed-event.ts";
import { createOutputBlock, type OutputBlock } from "./output-block.ts";

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

const settledMarks: Readonly<Record<string, readonly ["green" | "red" | "yellow", string]>> = {
  completed: ["green", "✓"],
  failed: ["red", "✗"],
  denied: ["red", "✗"],
  interrupted: ["yellow", "■"],
  unknown: ["yellow", "?"],
};

/** a call that is on screen and not settled */
interface LiveCall {
  readonly entryId: string;
  callId: string | undefined;
  output: OutputBlock | undefined;
}

export function createFeedRenderer({ paint, isOwnNonce }: FeedRendererOptions): FeedRenderer {
  const isNews = createEntryMemory();
  let calls: LiveCall[] = [];
  let streamed = "";
  let lineOpen = false;

  const closeLine = (): string => {
    const end = lineOpen ? "\n" : "";
    lineOpen = false;
    return end;
  };
  const endStep = (): string => {
    streamed = "";
    return closeLine();
  };
  const heading = (entry: FeedEntry): string =>
    `${paint("cyan", "▸")} ${paint("bold", entry.name)} ${plainText(entry.text)}\n`;

  const renderText = (text: string): string => {
    const clean = plainText(text);
    const start = streamed === "" ? closeLine() : "";
    streamed += clean;
    if (clean !== "") lineOpen = !clean.endsWith("\n");
    return start + clean;
  };

  const renderOutput = (callId: string, text: string): string => {
    // Output names its call and an entry doesn't, so the first call on screen that has no output yet is taken for it.
    const call = calls.find((one) => one.callId === callId) ?? calls.find((one) => one.callId === undefined);
    if (call === undefined) return "";
    call.callId = callId;
    call.output ??= createOutputBlock(paint);
    const start = streamed === "" ? "" : endStep();
    const shown = call.output.append(text, lineOpen && start === "");
    lineOpen = call.output.lineOpen;
    return start + shown;
  };

  const renderCall = (entry: FeedEntry): string => {
    const live = calls.find((one) => one.entryId === entry.id);
    const mark = settledMarks[entry.status];
    if (mark === undefined) {
      if (live !== undefined) return "";
      calls.push({ entryId: entry.id, callId: undefined, output: undefined });
      return endStep() + heading(entry);
    }
    calls = calls.filter((one) => one !== live);
    const start = endStep() + (live === undefined ? heading(entry) : "");
    const preview = live?.output === undefined ? (entry.outputPreview ?? "") : "";
    const output =
      preview === "" ? "" : createOutputBlock(paint).append(`${preview.replace(/\n+$/u, "")}\n`, false);
    const [style, sign] = mark;
    const name = calls.length > 0 ? `${entry.name} ` : "";
    return `${start}${output}${paint(style, `  ${sign} ${name}${entry.status}`)}\n`;
  };

  const renderAnswer = (entry: FeedEntry): string => {
    const answer = plainText(entry.text).trimEnd();
    const before = streamed.trimEnd();
    const continues = before !== "" && answer.startsWith(before);
    const start = continues ? "" : endStep();
    const rest = continues ? answer.slice(before.length) : answer;
    const end = rest !== "" || lineOpen ? "\n" : "";
    streamed = "";
    lineOpen = false;
    return start + rest + end;
  };

  const renderEntry = (entry: FeedEntry): string => {
    if (!isNews(entry)) return "";
    switch (entry.kind) {
      case "tool-call":
        return renderCall(entry);
      case "send-message":
        return renderAnswer(entry);
      case "notice":
        return `${endStep()}${paint(entry.level === "error" ? "red" : "yellow", `! ${plainText(entry.text)}`)}\n`;
      case "message":
        if (entry.clientNonce !== undefined && isOwnNonce(entry.clientNonce)) return "";
        return `${endStep()}${paint("dim", `${entry.role === "user" ? "you" : entry.role}: ${plainText(entry.text)}`)}\n`;
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
          return renderText(event.text);
        case "output":
          return renderOutput(event.callId, event.text);
        case "running":
          return event.isRunning ? "" : closeLine();
        case "connection":
          return `${closeLine()}${paint("yellow", connectionLines[event.state])}\n`;
      }
    },
  };
}

const connectionLines = {
  lost: "… the host doesn't answer; waiting for it",
  restored: "… the host is back",
} as const;

/** Tells whether an entry shows anything that the last look at it didn't. */
function createEntryMemory(): (entry: FeedEntry) => boolean {
  const looks = new Map<string, { readonly look: string; readonly settled: boolean }>();
  return (entry) => {
    const look = `${entry.kind} ${entry.status} ${entry.text}`;
    const settled = entry.kind !== "tool-call" || settledMarks[entry.status] !== undefined;
    const before = looks.get(entry.id);
    if (before !== undefined && (before.look === look || (before.settled && !settled))) return false;
    looks.delete(entry.id);
    looks.set(entry.id, { look, settled });
    const oldest = looks.keys().next();
    if (looks.size > rememberedEntriesMax && oldest.done !== true) looks.delete(oldest.value);
    return true;
  };
}
