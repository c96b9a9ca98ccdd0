/**
 * The reasoning of a step as we keep it with the step's raw parts, and as we give it back.
 *
 * The part carries the address it came from: two servers may serve a model of the same name, and neither takes the
 * other's reasoning.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { objectOf } from "../json-reading.ts";
import { makeSafeJson, makeSafeText } from "../safe-text.ts";
import type { ReasoningDelta } from "./read-chunk.ts";

export interface ReasoningSource {
  readonly provider: string;
  readonly model: string;
  readonly baseUrl: string;
}

export interface ReasoningCollector {
  add(delta: ReasoningDelta): void;
  /** undefined when the step had no reasoning */
  part(): JsonObject | undefined;
}

export function createReasoningCollector(baseUrl: string): ReasoningCollector {
  const texts: string[] = [];
  const details: JsonValue[] = [];
  let field: ReasoningDelta["field"] = null;
  return {
    add(delta) {
      field ??= delta.field;
      if (delta.text !== "") texts.push(delta.text);
      for (const detail of delta.details) addDetail(details, detail);
    },
    part() {
      if (texts.length === 0 && details.length === 0) return undefined;
      return {
        type: "reasoning",
        origin: baseUrl,
        field,
        text: makeSafeText(texts.join("")),
        details: details.map(makeSafeJson),
      };
    },
  };
}

const growingFields = ["text", "summary", "data"] as const;

/** A block is streamed in pieces that share type and index; the provider wants the whole blocks back. */
function addDetail(details: JsonValue[], piece: JsonValue): void {
  const last = objectOf(details.at(-1));
  const next = objectOf(piece);
  if (last.type === undefined || last.type !== next.type || last.index !== next.index) {
    details.push(piece);
    return;
  }
  const grown = growingFields.flatMap((name) => {
    const before = last[name];
    const more = next[name];
    return typeof before === "string" && typeof more === "string" ? [[name, before + more] as const] : [];
  });
  const news = Object.entries(next).filter(([, value]) => value !== null && value !== undefined);
  details[details.length - 1] = { ...last, ...Object.fromEntries(news), ...Object.fromEntries(grown) };
}

/** The fields of the message on the wire that give a kept part back; undefined when it isn't for this source. */
export function readReasoningPart(part: JsonObject, source: ReasoningSource): JsonObject | undefined {
  if (part.type !== "reasoning" || part.origin !== source.baseUrl) return undefined;
  const { field, text, details } = part;
  const known = field === "reasoning_content" || field === "reasoning";
  const fields = {
    ...(known && typeof text === "string" && text !== "" ? { [field]: text } : {}),
    ...(Array.isArray(details) && details.length > 0 ? { reasoning_details: details } : {}),
  };
  return Object.keys(fields).length === 0 ? undefined : fields;
}
