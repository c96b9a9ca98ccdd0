/**
 * Takes the large parts out of a JSON value, so that what is left fits into a row.
 *
 * A long text becomes a part of its own, wherever it stands: the same text in two rows is then one blob. Where many
 * small things make a value large, the smallest members that suffice are taken out whole. Nothing is put into the
 * value to stand for a part; parts say where they belong, so no text of a user can be taken for a reference.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";

export interface PayloadPart {
  /** the way from the value to the part: names of members and positions in lists */
  readonly at: readonly (string | number)[];
  readonly form: PayloadForm;
  /** the blob's text */
  readonly text: string;
}

/** `text` is the string itself; `json` is the part as JSON */
export type PayloadForm = "text" | "json";

export interface SplitPayload {
  /** `null` where a part was taken out */
  readonly rest: JsonValue;
  readonly parts: readonly PayloadPart[];
}

/** members below this are too small to be taken out one by one */
const memberMinChars = 1_024;

export function splitPayload(value: JsonValue, inlineMaxChars: number): SplitPayload {
  const parts: PayloadPart[] = [];
  const rest = split(value, [], { inlineMaxChars, parts });
  return { rest, parts };
}

interface Splitting {
  readonly inlineMaxChars: number;
  readonly parts: PayloadPart[];
}

type Way = readonly (string | number)[];

function split(value: JsonValue, at: Way, to: Splitting): JsonValue {
  if (estimateChars(value) <= to.inlineMaxChars) return value;
  if (typeof value !== "object" || value === null) return take(value, at, to);
  return isList(value) ? splitList(value, at, to) : splitObject(value, at, to);
}

function splitList(value: readonly JsonValue[], at: Way, to: Splitting): JsonValue {
  const inner: Splitting = { ...to, parts: [] };
  const rest = value.map((one, index) => split(one, [...at, index], inner));
  if (estimateChars(rest) > to.inlineMaxChars) return take(value, at, to);
  to.parts.push(...inner.parts);
  return rest;
}

function splitObject(value: JsonObject, at: Way, to: Splitting): JsonValue {
  const inner: Splitting = { ...to, parts: [] };
  const rest = new Map<string, JsonValue>();
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) rest.set(name, split(member, [...at, name], inner));
  }
  const bySize = [...rest]
    .map(([name, member]) => ({ name, size: estimateChars(member) }))
    .sort((a, b) => b.size - a.size);
  let left = bySize.reduce((sum, { name, size }) => sum + name.length + size, 0);
  for (const { name, size } of bySize) {
    if (left <= to.inlineMaxChars) break;
    if (size < memberMinChars) return take(value, at, to);
    // What lay deeper in this member goes with it: it is taken whole, as it was.
    const way = [...at, name];
    inner.parts.splice(0, inner.parts.length, ...inner.parts.filter((part) => !startsWith(part.at, way)));
    rest.set(name, take(value[name] ?? null, way, inner));
    left -= size;
  }
  to.parts.push(...inner.parts);
  return Object.fromEntries(rest);
}

function take(value: JsonValue, at: Way, to: Splitting): null {
  const isPlain = typeof value === "string" && value.isWellFormed();
  to.parts.push({ at, form: isPlain ? "text" : "json", text: isPlain ? value : JSON.stringify(value) });
  return null;
}

function startsWith(at: Way, way: Way): boolean {
  return way.every((step, index) => at[index] === step);
}

/** How long the JSON of a value is, near enough to decide by: it looks at each value, and not at each character. */
export function estimateChars(value: JsonValue | undefined): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 6;
  let sum = 2;
  if (isList(value)) {
    for (const one of value) sum += estimateChars(one) + 1;
    return sum;
  }
  // Every row is looked at, so nothing is made here that would have to be collected again.
  for (const name in value) sum += name.length + 4 + estimateChars(value[name]);
  return sum;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The value with its parts back in their places. */
export function joinPayload(
  rest: JsonValue,
  parts: readonly { readonly at: Way; readonly value: JsonValue }[],
): JsonValue {
  let whole = rest;
  for (const { at, value } of parts) whole = place(whole, at, value);
  return whole;
}

function place(whole: JsonValue, [step, ...further]: Way, value: JsonValue): JsonValue {
  if (step === undefined) return value;
  if (typeof whole !== "object" || whole === null) return whole;
  if (isList(whole)) {
    return whole.map((one, index) => (index === step ? place(one, further, value) : one));
  }
  return Object.fromEntries(
    Object.entries(whole).map(([name, member]) => [
      name,
      name === step ? place(member ?? null, further, value) : member,
    ]),
  );
}
