/** A command's output on screen: each line behind a bar, and no more lines than a person would scroll through. */
import { plainText } from "../plain-text.ts";
import type { Paint } from "../terminal.ts";

/** shown of one call's output; all of it is in the transcript and the spool */
const outputMaxLines = 200;

export interface OutputBlock {
  /** `continues` tells that the cursor still stands behind what was returned last */
  append(text: string, continues: boolean): string;
  readonly lineOpen: boolean;
}

export function createOutputBlock(paint: Paint): OutputBlock {
  const bar = paint("dim", "  │ ");
  let lines = 0;
  let lineOpen = false;

  return {
    get lineOpen() {
      return lineOpen;
    },
    append: (text, continues) => {
      if (lines >= outputMaxLines) return "";
      const [first = "", ...others] = plainText(text).split("\n");
      // An unfinished line that something else has been printed behind goes on behind a bar of its own.
      let shown = "";
      if (first !== "" || others.length > 0)
        shown += (lineOpen && continues ? "" : bar) + paint("dim", first);
      lineOpen ||= first !== "";
      for (const [index, line] of others.entries()) {
        lines += 1;
        lineOpen = false;
        shown += "\n";
        if (lines >= outputMaxLines)
          return `${shown}${bar}${paint("dim", "… there is more; it isn't shown here")}\n`;
        if (line === "" && index === others.length - 1) break;
        shown += bar + paint("dim", line);
        lineOpen = true;
      }
      return shown;
    },
  };
}
