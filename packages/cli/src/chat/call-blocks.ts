/** Tool calls on screen: a heading when one begins, its output as it comes, and how it ended. */
import { plainText } from "../plain-text.ts";
import type { Paint } from "../terminal.ts";
import type { FeedEntry } from "./feed-event.ts";
import { createOutputBlock, type OutputBlock } from "./output-block.ts";
import type { StepText } from "./step-text.ts";

export interface CallBlocks {
  entry(entry: FeedEntry): string;
  output(callId: string, text: string): string;
}

/** a call that is on screen and not settled */
interface LiveCall {
  readonly entryId: string;
  callId: string | undefined;
  output: OutputBlock | undefined;
}

const settledMarks: Readonly<Record<string, readonly ["green" | "red" | "yellow", string]>> = {
  completed: ["green", "✓"],
  failed: ["red", "✗"],
  denied: ["red", "✗"],
  interrupted: ["yellow", "■"],
  unknown: ["yellow", "?"],
};

export function isSettledCall(status: string): boolean {
  return settledMarks[status] !== undefined;
}

export function createCallBlocks(paint: Paint, step: StepText): CallBlocks {
  let calls: LiveCall[] = [];
  const heading = (entry: FeedEntry): string =>
    `${paint("cyan", "▸")} ${paint("bold", entry.name)} ${plainText(entry.text)}\n`;

  return {
    output: (callId, text) => {
      // Output names its call and an entry doesn't, so the first call on screen that has no output yet is taken for it.
      const call =
        calls.find((one) => one.callId === callId) ?? calls.find((one) => one.callId === undefined);
      if (call === undefined) return "";
      call.callId = callId;
      call.output ??= createOutputBlock(paint);
      const start = step.isStreaming ? step.end() : "";
      const shown = call.output.append(text, step.lineOpen && start === "");
      step.lineOpen = call.output.lineOpen;
      return start + shown;
    },
    entry: (entry) => {
      const live = calls.find((one) => one.entryId === entry.id);
      const mark = settledMarks[entry.status];
      if (mark === undefined) {
        if (live !== undefined) return "";
        calls.push({ entryId: entry.id, callId: undefined, output: undefined });
        return step.end() + heading(entry);
      }
      calls = calls.filter((one) => one !== live);
      const start = step.end() + (live === undefined ? heading(entry) : "");
      const preview = live?.output === undefined ? (entry.outputPreview ?? "") : "";
      const output =
        preview === "" ? "" : createOutputBlock(paint).append(`${preview.replace(/\n+$/u, "")}\n`, false);
      const [style, sign] = mark;
      const name = calls.length > 0 ? `${entry.name} ` : "";
      return `${start}${output}${paint(style, `  ${sign} ${name}${entry.status}`)}\n`;
    },
  };
}
