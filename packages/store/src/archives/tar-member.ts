/**
 * One member of an archive in the form that every `tar` reads: a header block, the bytes, zeros up to the next block.
 * Only plain files with short safe names are written, and only such are read: no links, no folders, no extensions.
 */
import { BoxError } from "@sand/protocol";
import { archiveLimits } from "./archive-limits.ts";

export const blockBytes = 512;
const nameMaxBytes = 100;
const plainFile = "0";

export interface MemberHeader {
  readonly name: string;
  readonly bytes: number;
}

export function isMemberName(name: string): boolean {
  if (name.length === 0 || Buffer.byteLength(name) > nameMaxBytes) return false;
  if (/[\p{Cc}\\]/u.test(name)) return false;
  return name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

export function encodeHeader({ name, bytes }: MemberHeader): Buffer {
  const block = Buffer.alloc(blockBytes);
  block.write(name, 0, nameMaxBytes);
  block.write("0000600\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  block.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124);
  // Always the same time, so that the same content is the same bytes.
  block.write("00000000000\0", 136);
  block.write(plainFile, 156);
  block.write("ustar\u000000", 257);
  block.write(`${sumOf(block).toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** `undefined` for the zeros that end an archive. */
export function decodeHeader(block: Buffer): MemberHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const sum = readOctal(block, 148, 8);
  if (sum !== sumOf(block)) throw damaged("a member's header isn't what was written");
  if (textAt(block, 257, 6) !== "ustar" || textAt(block, 345, 155) !== "")
    throw damaged("a member's header has a form that isn't ours");
  if (String.fromCharCode(block[156] ?? 0) !== plainFile)
    throw refused("it holds something else than plain files, such as a link");
  const name = textAt(block, 0, nameMaxBytes);
  if (!isMemberName(name)) throw refused("it holds a file whose name isn't safe");
  const bytes = readOctal(block, 124, 12);
  if (bytes > archiveLimits.memberMaxBytes) throw refused("a member is too large");
  return { name, bytes };
}

/** the zeros behind that many bytes */
export function paddingOf(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}

function sumOf(block: Buffer): number {
  let sum = 0;
  // The sum's own field counts as spaces.
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum;
}

function readOctal(block: Buffer, at: number, length: number): number {
  const text = textAt(block, at, length).trim();
  if (!/^[0-7]{1,11}$/u.test(text)) throw damaged("a number of a header can't be read");
  return Number.parseInt(text, 8);
}

function textAt(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? length : end).toString("utf8");
}

export function damaged(why: string): BoxError {
  return new BoxError("archive/damaged", `the archive is damaged: ${why}`, {
    hint: "nothing was installed; export the agent again",
  });
}

export function refused(why: string): BoxError {
  return new BoxError("archive/refused", `the archive is refused: ${why}`, { hint: "nothing was installed" });
}
