/** The tools that a request offered, as a replay needs them: their descriptions, by name and in their order. */
import type { ToolDescription } from "@sand/agent-core";
import type { JsonObject, JsonValue } from "@sand/protocol";

export type ReplayTools = ReadonlyMap<string, { readonly description: ToolDescription }>;

export function readTools(value: JsonValue | undefined): ReplayTools | undefined {
  if (!Array.isArray(value)) return undefined;
  const tools = new Map<string, { readonly description: ToolDescription }>();
  for (const one of value) {
    const description = readDescription(one);
    if (description === undefined) return undefined;
    tools.set(description.name, { description });
  }
  return tools;
}

function readDescription(value: JsonValue): ToolDescription | undefined {
  if (!isObject(value)) return undefined;
  const { name, description, parameters } = value;
  if (typeof name !== "string" || typeof description !== "string" || !isObject(parameters)) return undefined;
  return { name, description, parameters };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
