/**
 * Makes text safe to send and to store: no lone surrogates, no NUL.
 *
 * A lone surrogate has no UTF-8 form, so a provider answers the whole request with 400, and again on each retry: one
 * such character in a tool's output would end the conversation. NUL is refused or cuts the text short elsewhere.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";

const replacement = "\uFFFD";

export function makeSafeText(text: string): string {
  return text.toWellFormed().replaceAll("\0", replacement);
}

/** The same for each string in a JSON value, names included. */
export function makeSafeJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return makeSafeText(value);
  if (typeof value !== "object" || value === null) return value;
  return isList(value) ? value.map(makeSafeJson) : makeSafeObject(value);
}

export function makeSafeObject(object: JsonObject): JsonObject {
  const entries = Object.entries(object).flatMap(
    ([name, value]): readonly (readonly [string, JsonValue])[] =>
      value === undefined ? [] : [[makeSafeText(name), makeSafeJson(value)]],
  );
  return Object.fromEntries(entries);
}

// Array.isArray alone doesn't narrow a readonly array.
function isList(value: readonly JsonValue[] | JsonObject): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export interface TextJoiner {
  /** the part of the text that is complete with this delta */
  push(delta: string): string;
  /** what was held back at the end */
  flush(): string;
}

const endsWithHighSurrogate = /[\uD800-\uDBFF]$/;

/**
 * Makes deltas safe without breaking a pair: a provider may send a character's two halves in two deltas, so a first
 * half at the end is held back until the next delta shows whether its other half comes.
 */
export function createTextJoiner(): TextJoiner {
  let held = "";
  return {
    push(delta) {
      const text = held + delta;
      held = endsWithHighSurrogate.test(text) ? text.slice(-1) : "";
      return makeSafeText(held === "" ? text : text.slice(0, -1));
    },
    flush() {
      const rest = makeSafeText(held);
      held = "";
      return rest;
    },
  };
}
