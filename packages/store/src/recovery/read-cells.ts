/**
 * Reads the cells of one page of a b-tree, each on its own: a cell that makes no sense doesn't take the others along.
 * The format is SQLite's published one; all numbers are checked before they are used as places.
 */
import type { PageImage } from "./page-image.ts";

export type SqlValue = string | number | null | Uint8Array;

export type PageKind = "table leaf" | "table interior" | "index leaf" | "index interior";

export interface Cell {
  /** of a table's leaf; 0 elsewhere */
  readonly rowid: number;
  readonly values: readonly SqlValue[];
  /** pages that it goes on in */
  readonly overflow: readonly number[];
}

export interface ReadPage {
  readonly kind: PageKind;
  readonly cells: readonly Cell[];
  /** pages below this one */
  readonly children: readonly number[];
  /** cells that can't be read */
  readonly badCells: number;
}

const kinds: ReadonlyMap<number, PageKind> = new Map([
  [13, "table leaf"],
  [5, "table interior"],
  [10, "index leaf"],
  [2, "index interior"],
]);

/** the largest row that is put together, in bytes: four times what the store writes */
const payloadMaxBytes = 256 * 1_048_576;
const columnsMax = 64;

interface Context {
  readonly image: PageImage;
  readonly page: Buffer;
  readonly kind: PageKind;
}

/** `undefined` when the page can't be of a b-tree. */
export function readCells(image: PageImage, number: number): ReadPage | undefined {
  const page = image.page(number);
  if (page === undefined) return undefined;
  const start = number === 1 ? 100 : 0;
  const kind = kinds.get(page[start] ?? 0);
  if (kind === undefined) return undefined;
  const isInterior = kind.endsWith("interior");
  const pointersAt = start + (isInterior ? 12 : 8);
  const count = page.readUInt16BE(start + 3);
  if (pointersAt + count * 2 > image.usableBytes) return undefined;
  const context: Context = { image, page, kind };
  const cells: Cell[] = [];
  const children: number[] = [];
  let badCells = 0;
  for (let index = 0; index < count; index += 1) {
    try {
      const at = page.readUInt16BE(pointersAt + index * 2);
      if (at < pointersAt + count * 2) throw new RangeError("a cell lies in the page's head");
      if (isInterior) children.push(page.readUInt32BE(at));
      if (kind !== "table interior") cells.push(readCell(context, isInterior ? at + 4 : at));
    } catch {
      // A cell that can't be read is counted; what it held is lost with it.
      badCells += 1;
    }
  }
  if (isInterior) children.push(page.readUInt32BE(start + 8));
  return { kind, cells, children, badCells };
}

function readCell(context: Context, at: number): Cell {
  const size = readVarint(context.page, at);
  let from = size.end;
  let rowid = 0;
  if (context.kind === "table leaf") {
    const key = readVarint(context.page, from);
    rowid = key.value;
    from = key.end;
  }
  const overflow: number[] = [];
  return { rowid, values: readRecord(readPayload(context, from, size.value, overflow)), overflow };
}

/** A payload that is too long for its page goes on in a chain of others. */
function readPayload({ image, page, kind }: Context, at: number, bytes: number, overflow: number[]): Buffer {
  if (bytes > payloadMaxBytes) throw new RangeError("a row is too large");
  const local = localBytes(image.usableBytes, kind, bytes);
  if (at + local > image.usableBytes) throw new RangeError("a row leaves its page");
  const pieces = [page.subarray(at, at + local)];
  if (local === bytes) return pieces[0] ?? Buffer.alloc(0);
  let next = page.readUInt32BE(at + local);
  let left = bytes - local;
  while (left > 0) {
    const piece = next < 2 || next > image.pageCount ? undefined : image.page(next);
    if (piece === undefined) throw new RangeError("a row goes on in a page that isn't there");
    overflow.push(next);
    const taken = Math.min(left, image.usableBytes - 4);
    pieces.push(piece.subarray(4, 4 + taken));
    next = piece.readUInt32BE(0);
    left -= taken;
  }
  if (next !== 0) throw new RangeError("a row's chain doesn't end");
  return Buffer.concat(pieces);
}

function localBytes(usable: number, kind: PageKind, bytes: number): number {
  const most = kind === "table leaf" ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (bytes <= most) return bytes;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = least + ((bytes - least) % (usable - 4));
  return wanted <= most ? wanted : least;
}

function readRecord(payload: Buffer): readonly SqlValue[] {
  const head = readVarint(payload, 0);
  const values: SqlValue[] = [];
  let typeAt = head.end;
  let at = head.value;
  while (typeAt < head.value) {
    if (values.length >= columnsMax) throw new RangeError("a row has too many columns");
    const type = readVarint(payload, typeAt);
    typeAt = type.end;
    const bytes = bytesOfType(type.value);
    if (at + bytes > payload.length) throw new RangeError("a value leaves its row");
    values.push(readValue(payload, at, type.value, bytes));
    at += bytes;
  }
  if (typeAt !== head.value || at !== payload.length) throw new RangeError("a row has another length");
  return values;
}

const fixedBytes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function bytesOfType(type: number): number {
  if (type >= 12) return (type - (type % 2 === 0 ? 12 : 13)) / 2;
  const bytes = fixedBytes[type];
  if (bytes === undefined) throw new RangeError("a value has no known type");
  return bytes;
}

function readValue(payload: Buffer, at: number, type: number, bytes: number): SqlValue {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) return payload.readDoubleBE(at);
  if (type === 6) return Number(payload.readBigInt64BE(at));
  if (type < 7) return payload.readIntBE(at, bytes);
  const piece = payload.subarray(at, at + bytes);
  if (type % 2 === 0) return piece;
  // Another encoding, or bytes that aren't text, would come back as something else.
  return utf8.decode(piece);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** As large as a number can say exactly; what is larger isn't ours. */
function readVarint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes.readUInt8(at + index);
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) throw new RangeError("a number is too large");
    if ((byte & 0x80) === 0) return { value, end: at + index + 1 };
  }
  throw new RangeError("a number is too long");
}
