/**
 * Decodes one stream of a command's output as it arrives. A character that is split over two chunks comes out whole;
 * bytes that aren't UTF-8 become U+FFFD and are said so by `lossy`, so that nobody takes the text for the bytes.
 */
import { isUtf8 } from "node:buffer";
import { makeTextSafe } from "./safe-text.ts";

export interface StreamDecoder {
  decode(bytes: Uint8Array): string;
  /** what is left when the stream ends or a gap follows: an unfinished character shows as U+FFFD */
  flush(): string;
  /** true once bytes were replaced: they weren't UTF-8, or were a NUL */
  lossy(): boolean;
}

const empty: Uint8Array = new Uint8Array(0);

export function createStreamDecoder(): StreamDecoder {
  let carried = empty;
  let lossy = false;

  function decodeWhole(bytes: Uint8Array): string {
    if (bytes.length === 0) return "";
    if (!isUtf8(bytes) || bytes.includes(0)) lossy = true;
    return makeTextSafe(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  }

  return {
    decode(bytes) {
      const joined = carried.length === 0 ? bytes : Buffer.concat([carried, bytes]);
      const whole = joined.length - unfinishedLength(joined);
      // A copy, because the chunk's memory may be used again after this call.
      carried = whole === joined.length ? empty : Uint8Array.from(joined.subarray(whole));
      return decodeWhole(joined.subarray(0, whole));
    },
    flush() {
      const rest = carried;
      carried = empty;
      return decodeWhole(rest);
    },
    lossy: () => lossy,
  };
}

/** How many bytes at the end begin a character that isn't complete yet: 0 to 3. */
export function unfinishedLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return back < sequenceLength(byte) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf8) return 1;
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
