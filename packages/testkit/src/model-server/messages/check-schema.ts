/** Checks a request against the schema generated from the official SDK's types. */
import type { JsonObject } from "@sand/protocol";
import { Ajv } from "ajv";
import schema from "../anthropic-messages-request.gen.json" with { type: "json" };

const breachesShownMax = 5;

export function createSchemaCheck(): (body: JsonObject) => readonly string[] {
  const validate = new Ajv({ strict: false }).compile(schema);
  return (body) => {
    if (validate(body)) return [];
    return (validate.errors ?? [])
      .slice(-breachesShownMax)
      .map((error) => `schema: ${error.instancePath || "body"} ${error.message ?? error.keyword}`);
  };
}
