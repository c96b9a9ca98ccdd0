/**
 * Reads from SQLite's shared index of a log (`-shm`) up to where the log is committed. That is a moment that can be
 * noted at once, and the log be read up to it later.
 *
 * The index begins with two copies of its header, in the machine's byte order. A writer changes one after the other, so
 * two that are equal are whole.
 */
import { readSync } from "node:fs";

export interface WalMark {
  /** the last committed frame, counted from 1; 0 when nothing of the log is needed */
  readonly frame: number;
  /** marks of this run of the log, as they stand in its header */
  readonly salts: Buffer;
}

const headerBytes = 48;
const frameAt = 16;
const saltsAt = 32;
const saltsEnd = 40;
const triesMax = 1_000;

export function readWalMark(fd: number): WalMark {
  const both = Buffer.alloc(headerBytes * 2);
  for (let tries = 0; tries < triesMax; tries += 1) {
    if (readSync(fd, both, 0, both.length, 0) !== both.length) break;
    const first = both.subarray(0, headerBytes);
    if (!first.equals(both.subarray(headerBytes))) continue;
    return { frame: readNative(first, frameAt), salts: Buffer.from(first.subarray(saltsAt, saltsEnd)) };
  }
  throw new Error("the index of the write-ahead log can't be read");
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

function readNative(bytes: Buffer, at: number): number {
  return isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
}
