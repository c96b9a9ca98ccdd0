/** Tool calls on screen: a heading when one begins, its output as it comes, and how it ended. */
import { oneLine, plainText } from "../plain-text.ts";
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
  /** the entry's id, which is also the call's */
  readonly id: string;
  readonly title: string;
  output: OutputBlock | undefined;
}

const titleMaxChars = 60;

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
  /** the call whose heading or output was printed last */
  let speaker: string | undefined;
  const heading = (entry: FeedEntry): string =>
    `${paint("cyan", "▸")} ${paint("bold", entry.name)} ${plainText(entry.text)}\n`;
  /** Calls run side by side: output under another call's heading says whose it is. */
  const introduce = (call: LiveCall): string => {
    if (speaker === call.id) return "";
    speaker = call.id;
    return `${step.closeLine()}${paint("dim", `  ┌ ${call.title}`)}\n`;
  };

  return {
    output: (callId, text) => {
      const call = calls.find((one) => one.id === callId);
      // Output may overtake its call's entry, or come late; it is in the entry's preview either way.
      if (call === undefined) return "";
      call.output ??= createOutputBlock(paint);
      const start = (step.isStreaming ? step.end() : "") + introduce(call);
      const shown = call.output.append(text, step.lineOpen && start === "");
      step.lineOpen = call.output.lineOpen;
      return start + shown;
    },
    entry: (entry) => {
      const live = calls.find((one) => one.id === entry.id);
      const mark = settledMarks[entry.status];
      if (mark === undefined) {
        if (live !== undefined) return "";
        calls.push({
          id: entry.id,
          title: `${entry.name} ${oneLine(entry.text, titleMaxChars)}`,
          output: undefined,
        });
        speaker = entry.id;
        return step.end() + heading(entry);
      }
      calls = calls.filter((one) => one !== live);
      const start = step.end() + (live === undefined ? heading(entry) : "");
      const preview = live?.output === undefined ? (entry.outputPreview ?? "") : "";
      const output =
        preview === "" ? "" : createOutputBlock(paint).append(`${preview.replace(/\n+$/u, "")}\n`, false);
      const [style, sign] = mark;
      speaker = undefined;
      const name = calls.length > 0 ? `${entry.name} ` : "";
      return `${start}${output}${paint(style, `  ${sign} ${name}${entry.status}`)}\n`;
    },
  };
}
