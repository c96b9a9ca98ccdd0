/**
 * Keeps the names in a request that removes or moves things within the folder that relative paths begin at: a mutation
 * may make any name worse, but none may lead to the folder itself or out of it.
 */
import type { JsonValue } from "@sand/protocol";

const leadsOut = /^(?:\/|~|\.?\/*$)|(?:^|\/)\.\.?(?:\/|$)/u;

export function confineBody(value: JsonValue): JsonValue {
  if (typeof value === "string") return leadsOut.test(value) ? "zq-confined" : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(confineBody);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, confineBody(field ?? null)]));
}
