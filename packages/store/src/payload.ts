/**
 * How a JSON value lies in a row: the one place that decides it.
 *
 * Everything is inline text for now. A payload over 64 KB will move to a content-addressed blob beside the store, and
 * then only these two functions and the collector of blobs know about it.
 */
import { invariant, type JsonValue } from "@sand/protocol";

/** the largest value that a row takes, in UTF-16 units; tools and the gateway cut or refuse far below it */
const payloadMaxChars = 16 * 1_048_576;

export function packPayload(value: object | JsonValue): string {
  // A lone surrogate is written as an escape, so what comes back is exactly what went in.
  const text = JSON.stringify(value);
  invariant(typeof text === "string", "a stored value is JSON");
  invariant(text.length <= payloadMaxChars, "a stored value is within its size limit");
  return text;
}

/** Rows are written by `packPayload` only, so the caller names the type that it wrote. */
export function unpackPayload<T>(text: string): T {
  return JSON.parse(text) as T;
}
