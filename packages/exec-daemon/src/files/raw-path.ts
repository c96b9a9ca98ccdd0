/**
 * Paths as the bytes that they are. A name may hold any bytes but NUL and a slash, and text can't: so inside of the
 * file operations a path is a string with one character for each byte. Joining and comparing work on it as on text,
 * since slashes and dots are ASCII; it becomes bytes for the kernel, and text for people and the wire.
 */
import { join } from "node:path";
import { BoxError } from "@sand/protocol";
import { fileLimits } from "./file-limits.ts";

declare const raw: unique symbol;
export type RawPath = string & { readonly [raw]: true };

/** A path of a request: its bytes where there are any, else its text. */
export interface AskedPath {
  readonly path: string;
  readonly pathBytes: Uint8Array;
}

/** For what the kernel gave us with the encoding `latin1`, and what was made of raw paths. */
export function asRaw(text: string): RawPath {
  return text as RawPath;
}

export function rawOfText(text: string): RawPath {
  return asRaw(Buffer.from(text, "utf8").toString("latin1"));
}

export function rawOfAsked(asked: AskedPath): RawPath {
  const path =
    asked.pathBytes.length > 0
      ? asRaw(Buffer.from(asked.pathBytes).toString("latin1"))
      : rawOfText(asked.path);
  if (path.includes("\0")) throw new BoxError("exec/invalid", "a path holds no NUL");
  if (path.length > fileLimits.pathMaxBytes)
    throw new BoxError("exec/invalid", `a path has at most ${fileLimits.pathMaxBytes} bytes`);
  return path;
}

/** One that goes on below; `name` is never absolute here. */
export function joinRaw(folder: RawPath, name: string): RawPath {
  return asRaw(join(folder, name));
}

export function bytesOf(path: RawPath): Buffer {
  return Buffer.from(path, "latin1");
}

export function textOf(path: RawPath): string {
  return bytesOf(path).toString("utf8");
}

/** What the wire needs beside the text; nothing where the text says it all. */
export function oddBytesOf(path: RawPath): Uint8Array<ArrayBuffer> {
  return rawOfText(textOf(path)) === path ? new Uint8Array() : new Uint8Array(bytesOf(path));
}

/** Text and bytes of a path as the messages have them. */
export function wirePath(path: RawPath): { path: string; pathBytes: Uint8Array<ArrayBuffer> } {
  return { path: textOf(path), pathBytes: oddBytesOf(path) };
}
