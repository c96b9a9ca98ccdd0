/** Reads a small JSON body to an object. Throws what to answer. */
import type { IncomingMessage } from "node:http";
import { limits } from "../limits.ts";
import { invalid } from "../surface-error.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** An empty body is an empty object. */
export async function readJsonObject(request: IncomingMessage): Promise<JsonObject> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > limits.jsonBodyMaxBytes) throw invalid("the body is too large");
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString("utf8");
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("the body is no JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid("the body is no JSON object");
  return value as JsonObject;
}

/** Undefined when it is absent or null. */
export function textField(body: JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalid(`${name} is no text`);
  return value;
}
