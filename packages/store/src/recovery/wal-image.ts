/**
 * What a write-ahead log holds when a part of it is damaged.
 *
 * SQLite ends at the first frame that isn't right and forgets all that was committed behind it, without a word. A frame's
 * checksum goes on from the stored checksum of the one before, so the frames behind a damaged one can still be verified.
 *
 * 1. A frame counts when its salts are the log's and its checksum goes on from the frame before it.
 * 2. What was cut off in the middle of its writing isn't damage. A commit is known to have been on disk when frames of
 *    the next transaction stand behind it: those are written only after its sync. Only before such a commit is a frame
 *    that doesn't verify a damaged one; an end that doesn't verify is what a crash leaves.
 * 3. The page of a damaged frame is lost: an older version of it isn't what was committed. It isn't lost when the
 *    database has the very bytes that the frame's checksum wants, or when only the page's number was damaged.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export interface WalImage {
  readonly pageBytes: number;
  /** pages of the database at the last commit */
  readonly pageCount: number;
  /** page → its bytes in the log */
  readonly places: ReadonlyMap<number, number>;
  /** pages whose newest version can't be read */
  readonly lost: ReadonlySet<number>;
  /** frames that were on disk once and don't verify now */
  readonly damagedFrames: number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
/** the magic number without its last bit, which says the byte order of the checksums */
const magic = 0x377f0682;
/** page numbers that are tried for a frame whose own is damaged */
const candidatesMax = 20_000;

interface Frame {
  readonly page: number;
  readonly committedPages: number;
  /** the frame's place in the log */
  readonly at: number;
  readonly seed: Sum;
  readonly isRight: boolean;
}

interface Sum {
  readonly first: number;
  readonly second: number;
}

interface WalForm {
  readonly pageBytes: number;
  readonly littleEndian: boolean;
  readonly salts: Buffer;
}

/** `undefined` when there is no log, or nothing committed in it. `readPage` reads the database's own file. */
export function readWalImage(
  walPath: string,
  readPage: (page: number, pageBytes: number) => Buffer | undefined,
): WalImage | undefined {
  let fd: number;
  try {
    fd = openSync(walPath, "r");
  } catch {
    // No log is the usual case after an orderly end.
    return undefined;
  }
  try {
    const form = readForm(fd);
    if (form === undefined) return undefined;
    const frames = readFrames(fd, form);
    const end = endOfCommitted(frames);
    return end < 0 ? undefined : collect(frames.slice(0, end + 1), form, fd, readPage);
  } finally {
    closeSync(fd);
  }
}

/** Damage to the header costs nothing but its own fields, and the frames say those as well. */
function readForm(fd: number): WalForm | undefined {
  const header = readAt(fd, 0, headerBytes);
  if (header === undefined) return undefined;
  const mark = header.readUInt32BE(0);
  const littleEndian = (mark & ~1) >>> 0 === magic ? (mark & 1) === 0 : true;
  const said = header.readUInt32BE(8);
  const pageBytes = isPageSize(said) ? said : 4_096;
  const sum = addTo({ first: 0, second: 0 }, header.subarray(0, 24), littleEndian);
  const isWhole = sum.first === header.readUInt32BE(24) && sum.second === header.readUInt32BE(28);
  const salts = isWhole ? header.subarray(16, 24) : saltsOfFrames(fd, pageBytes);
  return salts === undefined ? undefined : { pageBytes, littleEndian, salts };
}

/** the salts that two of the first three frames agree on */
function saltsOfFrames(fd: number, pageBytes: number): Buffer | undefined {
  const found = [0, 1, 2].flatMap((index) => {
    const at = headerBytes + index * (frameHeaderBytes + pageBytes);
    return readAt(fd, at, frameHeaderBytes)?.subarray(8, 16) ?? [];
  });
  return found.find((salts, index) => found.some((other, at) => at !== index && other.equals(salts)));
}

export function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;
}

function readFrames(fd: number, form: WalForm): readonly Frame[] {
  const { pageBytes, littleEndian, salts } = form;
  const frames: Frame[] = [];
  const size = fstatSync(fd).size;
  const frameBytes = frameHeaderBytes + pageBytes;
  const header = readAt(fd, 0, headerBytes);
  let seed = header === undefined ? { first: 0, second: 0 } : storedSum(header, 24);
  for (let at = headerBytes; at + frameBytes <= size; at += frameBytes) {
    const frame = readAt(fd, at, frameBytes);
    if (frame === undefined) break;
    const stored = storedSum(frame, 16);
    const isOurs = frame.subarray(8, 16).equals(salts);
    const isRight = isOurs && isSame(sumOfFrame(frame, seed, littleEndian), stored);
    frames.push({ page: frame.readUInt32BE(0), committedPages: frame.readUInt32BE(4), at, seed, isRight });
    seed = stored;
  }
  return frames;
}

/** The last frame that counts, -1 when none does. */
function endOfCommitted(frames: readonly Frame[]): number {
  const isRight = (index: number): boolean => frames[index]?.isRight === true;
  let chain = 0;
  while (isRight(chain)) chain += 1;
  let end = -1;
  let newestRight = -1;
  for (let index = frames.length - 1; index >= 0 && end < 0; index -= 1) {
    if (!isRight(index)) continue;
    const isOnDisk = index < chain || newestRight > index;
    if ((frames[index]?.committedPages ?? 0) > 0 && isOnDisk) end = index;
    newestRight = Math.max(newestRight, index);
  }
  // What follows it without a break is as good as in a log without damage.
  for (let index = end + 1; end >= 0 && isRight(index); index += 1) {
    if ((frames[index]?.committedPages ?? 0) > 0) end = index;
  }
  return end;
}

function collect(
  frames: readonly Frame[],
  form: WalForm,
  fd: number,
  readPage: (page: number, pageBytes: number) => Buffer | undefined,
): WalImage {
  const places = new Map<number, number>();
  const lost = new Set<number>();
  const pageCount = frames.at(-1)?.committedPages ?? 0;
  let damagedFrames = 0;
  for (const frame of frames) {
    const page = frame.isRight ? frame.page : findPage(fd, frame, form, pageCount);
    if (page !== undefined) {
      places.set(page, frame.at + frameHeaderBytes);
      lost.delete(page);
      continue;
    }
    damagedFrames += 1;
    places.delete(frame.page);
    if (isInDatabase(fd, frame, form, readPage)) lost.delete(frame.page);
    else lost.add(frame.page);
  }
  return { pageBytes: form.pageBytes, pageCount, places, lost, damagedFrames };
}

/** The page of a frame whose data is whole and whose number isn't. */
function findPage(fd: number, frame: Frame, form: WalForm, pageCount: number): number | undefined {
  const bytes = readAt(fd, frame.at, frameHeaderBytes + form.pageBytes);
  if (bytes === undefined) return undefined;
  const stored = storedSum(bytes, 16);
  for (let page = 1; page <= Math.min(pageCount, candidatesMax); page += 1) {
    bytes.writeUInt32BE(page, 0);
    if (isSame(sumOfFrame(bytes, frame.seed, form.littleEndian), stored)) return page;
  }
  return undefined;
}

/** A checkpoint may have moved the frame's bytes into the database before they were damaged here. */
function isInDatabase(
  fd: number,
  frame: Frame,
  form: WalForm,
  readPage: (page: number, pageBytes: number) => Buffer | undefined,
): boolean {
  const header = readAt(fd, frame.at, frameHeaderBytes);
  const data = readPage(frame.page, form.pageBytes);
  if (header === undefined || data === undefined) return false;
  return isSame(
    sumOfFrame(Buffer.concat([header, data]), frame.seed, form.littleEndian),
    storedSum(header, 16),
  );
}

function sumOfFrame(frame: Buffer, seed: Sum, littleEndian: boolean): Sum {
  const head = addTo(seed, frame.subarray(0, 8), littleEndian);
  return addTo(head, frame.subarray(frameHeaderBytes), littleEndian);
}

function storedSum(bytes: Buffer, at: number): Sum {
  return { first: bytes.readUInt32BE(at), second: bytes.readUInt32BE(at + 4) };
}

function isSame(one: Sum, other: Sum): boolean {
  return one.first === other.first && one.second === other.second;
}

/** SQLite's checksum over pairs of 32-bit words, continued. */
function addTo(seed: Sum, bytes: Buffer, littleEndian: boolean): Sum {
  let { first, second } = seed;
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    const left = littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    const right = littleEndian ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4);
    first = (first + left + second) >>> 0;
    second = (second + right + first) >>> 0;
  }
  return { first, second };
}

function readAt(fd: number, at: number, bytes: number): Buffer | undefined {
  const buffer = Buffer.alloc(bytes);
  return readSync(fd, buffer, 0, bytes, at) === bytes ? buffer : undefined;
}
