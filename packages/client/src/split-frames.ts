/** Cuts the text of an event stream into frames, however it was chopped on the way, and reads one frame. */

/** a host sends far smaller ones; a larger one means that this is no event stream */
export const frameMaxChars = 4 * 1_048_576;

export interface Frame {
  /** the cursor behind this frame; `null` for one that is no committed fact */
  readonly seq: number | null;
  /** the text behind `data:`; `null` for a frame without it */
  readonly data: string | null;
  /** how long to wait before connecting again, in `ms` */
  readonly retryMs: number | null;
}

export interface FrameSplitter {
  /** the frames that are whole now */
  push(text: string): readonly Frame[];
}

export function createFrameSplitter(): FrameSplitter {
  let rest = "";
  return {
    push(text) {
      // A frame that isn't over may end in the new text only, or with a line end that came before it.
      const blocks = (rest + text).split("\n\n");
      rest = blocks.pop() ?? "";
      if (rest.length > frameMaxChars)
        throw new RangeError(`a frame has more than ${frameMaxChars} characters`);
      return blocks.map(readFrame);
    },
  };
}

function readFrame(block: string): Frame {
  const values = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    // A line that begins with a colon is a comment.
    if (colon > 0) values.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
  }
  return {
    seq: numberOf(values.get("id")),
    data: values.get("data") ?? null,
    retryMs: numberOf(values.get("retry")),
  };
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,16}$/u.test(text) ? Number(text) : null;
}
