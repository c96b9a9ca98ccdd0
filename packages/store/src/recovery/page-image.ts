/**
 * The pages of a database that may be damaged, as they were at its last commit: the file under its write-ahead log.
 * Nothing here asks SQLite, which refuses a file as a whole where most of its pages are fine.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isPageSize, readWalImage, type WalImage } from "./wal-image.ts";

export interface PageImage extends Disposable {
  readonly pageBytes: number;
  /** bytes of a page that hold something */
  readonly usableBytes: number;
  readonly pageCount: number;
  /** frames of the log that were on disk once and can't be read now */
  readonly damagedFrames: number;
  /** `undefined` for one that isn't there, or whose newest version is lost */
  page(number: number): Buffer | undefined;
}

const defaultPageBytes = 4_096;
const signature = Buffer.from("SQLite format 3\0", "latin1");

/** `madeWith` is the page size that our files of this kind have, for one whose first page is lost. */
export function openPageImage(path: string, madeWith = defaultPageBytes): PageImage {
  const fd = openIfThere(path);
  const fileBytes = fd === undefined ? 0 : fstatSync(fd).size;

  function fromFile(page: number, bytes: number): Buffer | undefined {
    if (fd === undefined || page < 1) return undefined;
    const buffer = Buffer.alloc(bytes);
    return readSync(fd, buffer, 0, bytes, (page - 1) * bytes) === bytes ? buffer : undefined;
  }

  const wal = readWalImage(`${path}-wal`, fromFile);
  const pageBytes = wal?.pageBytes ?? pageBytesOf(fromFile(1, 512), madeWith);
  const walFd = wal === undefined ? undefined : openIfThere(`${path}-wal`);

  function fromWal(image: WalImage, number: number): Buffer | undefined {
    const place = image.places.get(number);
    if (place === undefined || walFd === undefined) return undefined;
    const buffer = Buffer.alloc(pageBytes);
    return readSync(walFd, buffer, 0, pageBytes, place) === pageBytes ? buffer : undefined;
  }

  function page(number: number): Buffer | undefined {
    if (wal?.lost.has(number)) return undefined;
    return (wal === undefined ? undefined : fromWal(wal, number)) ?? fromFile(number, pageBytes);
  }

  return {
    pageBytes,
    // We make no databases that reserve bytes at the end of each page.
    usableBytes: pageBytes,
    pageCount: wal?.pageCount ?? pageCountOf(page(1), Math.ceil(fileBytes / pageBytes)),
    damagedFrames: wal?.damagedFrames ?? 0,
    page,
    [Symbol.dispose]() {
      if (fd !== undefined) closeSync(fd);
      if (walFd !== undefined) closeSync(walFd);
    },
  };
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    // What isn't there has no pages; that is what the image then says.
    return undefined;
  }
}

function pageBytesOf(first: Buffer | undefined, madeWith: number): number {
  if (first === undefined || !hasSignature(first)) return madeWith;
  const said = first.readUInt16BE(16);
  const bytes = said === 1 ? 65_536 : said;
  return isPageSize(bytes) ? bytes : madeWith;
}

export function hasSignature(first: Buffer): boolean {
  return first.subarray(0, signature.length).equals(signature);
}

/** A file that was cut off has fewer pages than it says, and those that are gone are to be known as lost. */
function pageCountOf(first: Buffer | undefined, inFile: number): number {
  if (first === undefined || !hasSignature(first)) return inFile;
  const isCurrent = first.readUInt32BE(24) === first.readUInt32BE(92);
  const said = first.readUInt32BE(28);
  // One that says far more than there is has a damaged count.
  return isCurrent && said >= inFile && said <= inFile * 64 + 1_024 ? said : inFile;
}
