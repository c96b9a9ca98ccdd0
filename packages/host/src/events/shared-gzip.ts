/**
 * A gzip stream made of blocks that are compressed once and shared by all clients.
 *
 * A raw deflate block that ends with a sync flush and refers to nothing before it may follow any other block, so one
 * compression of a frame serves every client. Only the checksum and the length at the end belong to one stream, and
 * they cost a few bytes of state; a compressor for each client would hold a window of some hundred kilobytes.
 */
import { constants, crc32, deflateRawSync } from "node:zlib";

/** magic, method deflate, no flags, no time, no extra flags, unknown system */
export const gzipHeader: Buffer = Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff]);

/** an empty last block */
const lastBlock = [0x03, 0x00];

/** Ends on a byte boundary, so that the client can decode everything up to here at once. */
export function deflateBlock(plain: Buffer): Buffer {
  return deflateRawSync(plain, { finishFlush: constants.Z_SYNC_FLUSH });
}

export interface GzipTally {
  /** counts `plain` as written */
  add(plain: Buffer): void;
  /** what ends the stream */
  trailer(): Buffer;
}

export function createGzipTally(): GzipTally {
  let checksum = 0;
  let length = 0;
  return {
    add(plain) {
      checksum = crc32(plain, checksum);
      length = (length + plain.length) % 2 ** 32;
    },
    trailer() {
      const end = Buffer.alloc(lastBlock.length + 8);
      end.set(lastBlock);
      end.writeUInt32LE(checksum, lastBlock.length);
      end.writeUInt32LE(length, lastBlock.length + 4);
      return end;
    },
  };
}
