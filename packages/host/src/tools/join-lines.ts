/** Joins as many whole lines as fit into a number of bytes; at least the first is shown, cut when it must be. */
import { takeFitting } from "./cut-text.ts";
import { utf8Length } from "./safe-text.ts";

export interface JoinedLines {
  readonly text: string;
  readonly shown: number;
  /** how many lines didn't fit */
  readonly left: number;
}

export function joinLines(lines: readonly string[], maxBytes: number): JoinedLines {
  let bytes = 0;
  let shown = 0;
  for (const line of lines) {
    bytes += utf8Length(line) + 1;
    if (bytes > maxBytes + 1) break;
    shown += 1;
  }
  const [first] = lines;
  if (shown === 0 && first !== undefined)
    return { text: takeFitting(first, maxBytes), shown: 1, left: lines.length - 1 };
  return { text: lines.slice(0, shown).join("\n"), shown, left: lines.length - shown };
}
