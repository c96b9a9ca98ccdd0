/**
 * Reads SQLite's write-ahead log: where the newest committed version of each page lies in it.
 *
 * A frame counts when its salts are the header's and its checksum continues the chain from the first frame on; frames
 * behind the last commit don't count. The caller holds a read transaction on the database, so the log is begun anew
 * below it in one case only: everything in it was in the file already when the transaction began, and nothing was added
 * since. The header, which is written first, shows it; what was found in the log before is void then, and not needed.
 */
import { fstatSync, readSync } from "node:fs";
import type { WalMark } from "./wal-index.ts";

export interface WalPages {
  readonly pageBytes: number;
  /** pages of the database at the last commit */
  readonly pageCount: number;
  /** page number → place of its bytes in the log */
  readonly places: ReadonlyMap<number, number>;
  /** whether the places still hold; to be asked after each use of one */
  isCurrent(): boolean;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
/** the magic number without its last bit, which says the byte order of the checksums */
const magic = 0x377f0682;
const scanTriesMax = 5;

/** Up to the mark. `undefined` when nothing of the log is needed: the file has it all */
export function scanWal(fd: number, mark: WalMark): WalPages | undefined {
  if (mark.frame === 0) return undefined;
  for (let tries = 0; tries < scanTriesMax; tries += 1) {
    const before = readHeader(fd);
    // Begun anew since, which the transaction allows only when everything up to the mark was in the file.
    if (before === undefined || !before.subarray(16, 24).equals(mark.salts)) return undefined;
    const found = scanFrames(fd, before, mark.frame);
    const isCurrent = (): boolean => readHeader(fd)?.equals(before) === true;
    if (isCurrent()) return found === undefined ? undefined : { ...found, isCurrent };
  }
  throw new Error("the write-ahead log was begun anew again and again");
}

function readHeader(fd: number): Buffer | undefined {
  const header = Buffer.alloc(headerBytes);
  return readSync(fd, header, 0, headerBytes, 0) === headerBytes ? header : undefined;
}

interface Sum {
  first: number;
  second: number;
}

function scanFrames(fd: number, header: Buffer, framesMax: number): Omit<WalPages, "isCurrent"> | undefined {
  const kind = header.readUInt32BE(0);
  if ((kind & ~1) >>> 0 !== magic) return undefined;
  const littleEndian = (kind & 1) === 0;
  const pageBytes = header.readUInt32BE(8);
  const sum: Sum = { first: 0, second: 0 };
  addTo(sum, header.subarray(0, 24), littleEndian);
  if (sum.first !== header.readUInt32BE(24) || sum.second !== header.readUInt32BE(28)) return undefined;

  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  const pending = new Map<number, number>();
  const places = new Map<number, number>();
  let pageCount = 0;
  const size = Math.min(fstatSync(fd).size, headerBytes + framesMax * frame.length);
  for (let at = headerBytes; at + frame.length <= size; at += frame.length) {
    if (readSync(fd, frame, 0, frame.length, at) !== frame.length) break;
    if (!frame.subarray(8, 16).equals(header.subarray(16, 24))) break;
    addTo(sum, frame.subarray(0, 8), littleEndian);
    addTo(sum, frame.subarray(frameHeaderBytes), littleEndian);
    if (sum.first !== frame.readUInt32BE(16) || sum.second !== frame.readUInt32BE(20)) break;
    pending.set(frame.readUInt32BE(0), at + frameHeaderBytes);
    const committedPages = frame.readUInt32BE(4);
    if (committedPages === 0) continue;
    pageCount = committedPages;
    for (const [page, place] of pending) places.set(page, place);
    pending.clear();
  }
  return pageCount === 0 ? undefined : { pageBytes, pageCount, places };
}

/** SQLite's checksum over pairs of 32-bit words, continued. */
function addTo(sum: Sum, bytes: Buffer, littleEndian: boolean): void {
  let { first, second } = sum;
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    const left = littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    const right = littleEndian ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4);
    first = (first + left + second) >>> 0;
    second = (second + right + first) >>> 0;
  }
  sum.first = first;
  sum.second = second;
}
