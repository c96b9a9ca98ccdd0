/**
 * The spool's format. A spool is a row of segments; a segment is a header and then frames; a frame is one piece of
 * output as it was read from a pipe, so the order over both streams is kept.
 *
 *   segment header, 32 bytes   magic "SNDSPL01" | u64 seq of its first frame | u64 stdout offset | u64 stderr offset
 *   frame, 24 bytes + payload  u32 payload length | u8 stream | 3 zero | u64 seq | u64 offset in its stream
 *
 * Numbers are big-endian. The header's offsets are where each stream stands before the segment, so a reader that finds
 * earlier segments gone can say exactly what is missing. A frame cut short at the end of the last segment isn't there
 * yet, or was never finished; either way it doesn't count.
 */
export type SpoolStream = "stdout" | "stderr";

export interface SegmentHeader {
  readonly firstSeq: number;
  readonly stdout: number;
  readonly stderr: number;
}

export interface FrameHeader {
  readonly length: number;
  readonly stream: SpoolStream;
  readonly seq: number;
  readonly offset: number;
}

const magic = Buffer.from("SNDSPL01", "latin1");
export const segmentHeaderBytes = 32;
export const frameHeaderBytes = 24;

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(segmentHeaderBytes);
  magic.copy(bytes, 0);
  bytes.writeBigUInt64BE(BigInt(header.firstSeq), 8);
  bytes.writeBigUInt64BE(BigInt(header.stdout), 16);
  bytes.writeBigUInt64BE(BigInt(header.stderr), 24);
  return bytes;
}

/** Undefined when the bytes aren't a whole header of ours. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < segmentHeaderBytes || !bytes.subarray(0, magic.length).equals(magic)) return undefined;
  return {
    firstSeq: Number(bytes.readBigUInt64BE(8)),
    stdout: Number(bytes.readBigUInt64BE(16)),
    stderr: Number(bytes.readBigUInt64BE(24)),
  };
}

export function encodeFrameHeader(frame: FrameHeader): Buffer {
  const bytes = Buffer.alloc(frameHeaderBytes);
  bytes.writeUInt32BE(frame.length, 0);
  bytes.writeUInt8(frame.stream === "stdout" ? 1 : 2, 4);
  bytes.writeBigUInt64BE(BigInt(frame.seq), 8);
  bytes.writeBigUInt64BE(BigInt(frame.offset), 16);
  return bytes;
}

/** Undefined when there aren't enough bytes for the header at `at`. */
export function decodeFrameHeader(bytes: Buffer, at: number): FrameHeader | undefined {
  if (bytes.length < at + frameHeaderBytes) return undefined;
  return {
    length: bytes.readUInt32BE(at),
    stream: bytes.readUInt8(at + 4) === 1 ? "stdout" : "stderr",
    seq: Number(bytes.readBigUInt64BE(at + 8)),
    offset: Number(bytes.readBigUInt64BE(at + 16)),
  };
}

export function segmentName(index: number): string {
  return `out-${String(index).padStart(8, "0")}.log`;
}

/** The numbers of the segments among a folder's names, ascending. */
export function segmentIndexes(names: readonly string[]): readonly number[] {
  return names
    .map((name) => /^out-(\d{8,})\.log$/u.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}
