/** Paths whose names may hold any bytes: a string with one character for each, which joins like text. */
import { join } from "node:path";

declare const bytes: unique symbol;
export type BytePath = string & { readonly [bytes]: true };

/** For what the file system gave with the encoding `latin1`, and what was made of such paths. */
export function asBytePath(text: string): BytePath {
  return text as BytePath;
}

export function bytePathOf(text: string): BytePath {
  return asBytePath(Buffer.from(text, "utf8").toString("latin1"));
}

export function joinBytes(folder: BytePath, name: string): BytePath {
  return asBytePath(join(folder, name));
}

/** As the file system takes it. */
export function toBuffer(path: BytePath): Buffer {
  return Buffer.from(path, "latin1");
}

/** As a request takes it. */
export function toWire(path: BytePath): Uint8Array<ArrayBuffer> {
  return new Uint8Array(toBuffer(path));
}

export function toText(path: BytePath): string {
  return toBuffer(path).toString("utf8");
}

/** The path of an answer: its bytes where the text doesn't say it all. */
export function fromWire(given: { readonly path: string; readonly pathBytes: Uint8Array }): BytePath {
  return given.pathBytes.length > 0
    ? asBytePath(Buffer.from(given.pathBytes).toString("latin1"))
    : bytePathOf(given.path);
}
