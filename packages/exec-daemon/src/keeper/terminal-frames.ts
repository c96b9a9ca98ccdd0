/** The frames between the daemon and a shim that keeps a terminal, as `native/terminal.c` describes them. */
export type ShimFrame =
  /** from this offset on output comes live; what is before is in the spool */
  | { readonly kind: "hello"; readonly offset: number }
  | { readonly kind: "output"; readonly offset: number; readonly bytes: Buffer };

const headBytes = 5;
const offsetBytes = 8;
const kinds = { input: 1, size: 2, hangUp: 3, hello: 1, output: 2 } as const;
/** the shim reads at most 64 KiB at once */
const payloadMaxBytes = 128 * 1024;

export function encodeInput(bytes: Uint8Array): Buffer {
  return Buffer.concat([head(kinds.input, bytes.length), bytes]);
}

export function encodeSize({ cols, rows }: { readonly cols: number; readonly rows: number }): Buffer {
  const size = Buffer.alloc(8);
  size.writeUInt16BE(cols, 0);
  size.writeUInt16BE(rows, 2);
  return Buffer.concat([head(kinds.size, size.length), size]);
}

export function encodeHangUp(): Buffer {
  return head(kinds.hangUp, 0);
}

function head(kind: number, length: number): Buffer {
  const bytes = Buffer.alloc(headBytes);
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

export interface ShimFrameParser {
  /** The frames that are whole now. Throws a `RangeError` on what no shim sends. */
  push(bytes: Buffer): readonly ShimFrame[];
}

export function createShimFrameParser(): ShimFrameParser {
  let rest: Buffer = Buffer.alloc(0);
  return {
    push(bytes) {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const frames: ShimFrame[] = [];
      for (;;) {
        const length = rest.length < headBytes ? undefined : rest.readUInt32BE(1);
        if (length !== undefined && (length < offsetBytes || length > payloadMaxBytes))
          throw new RangeError("a frame of a terminal is too short or too long");
        if (length === undefined || rest.length < headBytes + length) return frames;
        frames.push(parseFrame(rest.readUInt8(0), rest.subarray(headBytes, headBytes + length)));
        rest = rest.subarray(headBytes + length);
      }
    },
  };
}

function parseFrame(kind: number, payload: Buffer): ShimFrame {
  const offset = Number(payload.readBigUInt64BE(0));
  if (kind === kinds.hello) return { kind: "hello", offset };
  if (kind === kinds.output) return { kind: "output", offset, bytes: payload.subarray(offsetBytes) };
  throw new RangeError("a terminal sent a frame that isn't known");
}
