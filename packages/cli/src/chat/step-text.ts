/** The text of the running step as it stands on screen, and whether the cursor is at the start of a line. */
import { plainText } from "../plain-text.ts";

export interface StepText {
  /** a streamed piece */
  stream(text: string): string;
  /** the stored answer: only what isn't on screen yet */
  settle(text: string): string;
  /** ends the line if one is open; what was streamed stays known */
  closeLine(): string;
  /** ends the line and forgets what was streamed: something else follows */
  end(): string;
  readonly isStreaming: boolean;
  /** set by whoever prints beside this */
  lineOpen: boolean;
}

export function createStepText(): StepText {
  let streamed = "";
  const text: StepText = {
    lineOpen: false,
    get isStreaming() {
      return streamed !== "";
    },
    closeLine: () => {
      const end = text.lineOpen ? "\n" : "";
      text.lineOpen = false;
      return end;
    },
    end: () => {
      streamed = "";
      return text.closeLine();
    },
    stream: (piece) => {
      const clean = plainText(piece);
      const start = streamed === "" ? text.closeLine() : "";
      streamed += clean;
      if (clean !== "") text.lineOpen = !clean.endsWith("\n");
      return start + clean;
    },
    settle: (whole) => {
      const answer = plainText(whole).trimEnd();
      const before = streamed.trimEnd();
      const continues = before !== "" && answer.startsWith(before);
      const start = continues ? "" : text.end();
      const rest = continues ? answer.slice(before.length) : answer;
      const end = rest !== "" || text.lineOpen ? "\n" : "";
      streamed = "";
      text.lineOpen = false;
      return start + rest + end;
    },
  };
  return text;
}
