/**
 * One text for one JSON value: keys sorted by code unit, no blanks, members that are `undefined` left out. Two
 * payloads that mean the same have the same digest, whatever order their keys came in.
 */
import type { JsonValue } from "./json.ts";

export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

// Array.isArray doesn't narrow a readonly array away from the object.
function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
