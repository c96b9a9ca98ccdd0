/** What `sand cp` is told to copy, and where to: a path that begins with `box:` lies in the box, any other here. */
import { CommandFailure } from "../command-failure.ts";

export type Direction = "into-box" | "out-of-box";

export interface CopyEnds {
  readonly direction: Direction;
  /** without the mark */
  readonly sources: readonly string[];
  readonly destination: string;
  /** a destination that ends with a slash, or has several sources, is a folder */
  readonly intoFolder: boolean;
}

const mark = "box:";
const hint = "sand cp notes.txt box:docs/, or sand cp box:result.json .";

export function parseCopyEnds(words: readonly string[]): CopyEnds {
  const sources = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  const inBox = sources.filter((word) => word.startsWith(mark)).length;
  if (inBox > 0 && inBox < sources.length)
    throw new CommandFailure("usage", "all sources are in the box, or none is", { hint });
  const isOut = inBox > 0;
  if (isOut === last.startsWith(mark)) {
    const problem = isOut ? "source and destination are both in the box" : "neither side is in the box";
    throw new CommandFailure("usage", `${problem}; a path there begins with "${mark}"`, { hint });
  }
  const bare = (word: string): string => (word.startsWith(mark) ? word.slice(mark.length) : word) || ".";
  const destination = bare(last);
  return {
    direction: isOut ? "out-of-box" : "into-box",
    sources: sources.map(bare),
    destination,
    intoFolder: sources.length > 1 || destination.endsWith("/"),
  };
}
