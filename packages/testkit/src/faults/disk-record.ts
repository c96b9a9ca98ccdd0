/**
 * What the shim recorded: every change of a file or folder, every sync and everything sent, in the order of their
 * effects over all threads. The layout of a record is told in `disk-shim.c`.
 */
import { readFileSync } from "node:fs";

export type DiskOp =
  | {
      readonly kind: "made";
      readonly what: "file" | "folder";
      readonly inode: number;
      readonly path: string;
      readonly atMs: number;
    }
  | Written
  | { readonly kind: "cut"; readonly inode: number; readonly size: number; readonly atMs: number }
  | { readonly kind: "synced"; readonly inode: number }
  | { readonly kind: "sync failed"; readonly inode: number }
  | { readonly kind: "renamed"; readonly from: string; readonly to: string }
  | { readonly kind: "removed"; readonly path: string }
  | { readonly kind: "sent"; readonly text: string };

interface Written {
  readonly kind: "written";
  readonly inode: number;
  readonly place: number;
  readonly bytes: Buffer;
  /** by the machine's clock, which file times come from */
  readonly atMs: number;
}

const headBytes = 33;

/** A record that was cut off by the end of its process is left out. */
export function* readDiskRecord(file: string): Generator<DiskOp, void> {
  const bytes = readFileSync(file);
  let at = 0;
  while (at + headBytes <= bytes.length) {
    const length = Number(bytes.readBigUInt64LE(at + 25));
    const end = at + headBytes + length;
    if (end > bytes.length) return;
    const head = {
      kind: String.fromCharCode(bytes[at] ?? 0),
      inode: Number(bytes.readBigUInt64LE(at + 1)),
      place: Number(bytes.readBigUInt64LE(at + 9)),
      atMs: Number(bytes.readBigUInt64LE(at + 17)),
    };
    yield toOp(head, bytes.subarray(at + headBytes, end));
    at = end;
  }
}

interface Head {
  readonly kind: string;
  readonly inode: number;
  readonly place: number;
  readonly atMs: number;
}

function toOp({ kind, inode, place, atMs }: Head, body: Buffer): DiskOp {
  switch (kind) {
    case "C":
      return { kind: "made", what: "file", inode, path: body.toString(), atMs };
    case "M":
      return { kind: "made", what: "folder", inode, path: body.toString(), atMs };
    case "W":
      return { kind: "written", inode, place, bytes: body, atMs };
    case "T":
      return { kind: "cut", inode, size: place, atMs };
    case "S":
      return { kind: "synced", inode };
    case "F":
      return { kind: "sync failed", inode };
    case "R": {
      const [from = "", to = ""] = body.toString().split("\n");
      return { kind: "renamed", from, to };
    }
    case "U":
      return { kind: "removed", path: body.toString() };
    case "N":
      return { kind: "sent", text: body.toString("latin1") };
    // The record is the shim's own: another kind is a bug there.
    default:
      throw new Error(`the shim recorded a ${JSON.stringify(kind)}`);
  }
}
