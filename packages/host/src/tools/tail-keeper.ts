/** Keeps the last bytes of a text that arrives in pieces, and counts the lines that it lets go. */
import { countLines, utf8Length } from "./safe-text.ts";

export interface TailKeeper {
  add(text: string): void;
  /** at least the last `maxBytes` of what was added, and a little more */
  text(): string;
  /** line ends in what was let go */
  droppedLines(): number;
}

interface Piece {
  text: string;
  bytes: number;
}

/** Small pieces are joined up to this size, so that a flood of short lines isn't a flood of objects. */
const pieceMaxChars = 4 * 1024;

export function createTailKeeper(maxBytes: number): TailKeeper {
  let pieces: Piece[] = [];
  let kept = 0;
  let droppedLines = 0;

  function append(text: string): void {
    const bytes = utf8Length(text);
    const last = pieces.at(-1);
    if (last !== undefined && last.text.length + text.length <= pieceMaxChars) {
      last.text += text;
      last.bytes += bytes;
    } else {
      pieces.push({ text, bytes });
    }
    kept += bytes;
  }

  /** Whole pieces only: where exactly the tail begins is decided once, at the end. */
  function letGo(): void {
    let count = 0;
    for (const piece of pieces) {
      if (kept - piece.bytes < maxBytes) break;
      kept -= piece.bytes;
      droppedLines += countLines(piece.text);
      count += 1;
    }
    if (count > 0) pieces = pieces.slice(count);
  }

  return {
    add(text) {
      for (let at = 0; at < text.length; ) {
        const end = splitPoint(text, at + pieceMaxChars);
        append(text.slice(at, end));
        at = end;
        letGo();
      }
    },
    text: () => pieces.map((piece) => piece.text).join(""),
    droppedLines: () => droppedLines,
  };
}

/** `index`, or one more when it would split a surrogate pair. */
function splitPoint(text: string, index: number): number {
  if (index >= text.length) return text.length;
  const code = text.charCodeAt(index - 1);
  return code >= 0xd800 && code <= 0xdbff ? index + 1 : index;
}
