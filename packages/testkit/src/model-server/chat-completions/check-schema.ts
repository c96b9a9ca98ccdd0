/**
 * Checks a request against the schema generated from the official SDK's types.
 *
 * The fields by which providers take reasoning back aren't OpenAI's own; they are set aside before the check, and
 * everything else that the SDK's types don't know is a breach.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { Ajv } from "ajv";
import schema from "../openai-chat-request.gen.json" with { type: "json" };
import { objectOf } from "../read-json.ts";

const reasoningFields = new Set(["reasoning_content", "reasoning", "reasoning_details"]);
const breachesShownMax = 5;

export function createSchemaCheck(): (body: JsonObject) => readonly string[] {
  const validate = new Ajv({ strict: false }).compile(schema);
  return (body) => {
    if (validate(withoutReasoning(body))) return [];
    return (validate.errors ?? [])
      .slice(-breachesShownMax)
      .map((error) => `schema: ${error.instancePath || "body"} ${error.message ?? error.keyword}`);
  };
}

function withoutReasoning(body: JsonObject): JsonObject {
  if (!Array.isArray(body.messages)) return body;
  return { ...body, messages: body.messages.map(messageWithoutReasoning) };
}

function messageWithoutReasoning(message: JsonValue): JsonValue {
  const fields = objectOf(message);
  if (fields.role !== "assistant") return message;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !reasoningFields.has(name)));
}
