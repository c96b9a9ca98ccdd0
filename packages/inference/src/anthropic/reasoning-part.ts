/**
 * The reasoning of a step as we keep it with the step's raw parts, and as we read it again.
 *
 * It is the message's shape: reasoning whole, texts by their length and calls by their place, so that the message can
 * be built again as it was. The part carries the address it came from: two servers may serve a model of the same
 * name, and neither takes the other's signatures.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { countOf, listOf, objectOf, textOf } from "../json-reading.ts";

export type ReasoningBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "text"; readonly chars: number }
  | { readonly type: "call" };

export interface ReasoningSource {
  readonly provider: string;
  readonly model: string;
  readonly baseUrl: string;
}

/** undefined when the step had no reasoning: then its text and its calls say everything */
export function writeReasoningPart(
  layout: readonly ReasoningBlock[],
  baseUrl: string,
): JsonObject | undefined {
  if (!layout.some(isReasoning)) return undefined;
  return { type: "reasoning", origin: baseUrl, blocks: layout.map((block) => ({ ...block })) };
}

/** The shape that a kept part tells; undefined when it isn't for this source. */
export function readReasoningPart(
  part: JsonObject,
  source: ReasoningSource,
): readonly ReasoningBlock[] | undefined {
  if (part.type !== "reasoning" || part.origin !== source.baseUrl) return undefined;
  const layout = listOf(part.blocks).flatMap(readBlock);
  return layout.some(isReasoning) ? layout : undefined;
}

function isReasoning(block: ReasoningBlock): boolean {
  return block.type === "thinking" || block.type === "redacted_thinking";
}

function readBlock(value: JsonValue): readonly ReasoningBlock[] {
  const block = objectOf(value);
  if (block.type === "thinking") {
    return [{ type: "thinking", thinking: textOf(block.thinking), signature: textOf(block.signature) }];
  }
  if (block.type === "redacted_thinking") return [{ type: "redacted_thinking", data: textOf(block.data) }];
  if (block.type === "text") return [{ type: "text", chars: countOf(block.chars) ?? 0 }];
  return block.type === "call" ? [{ type: "call" }] : [];
}
