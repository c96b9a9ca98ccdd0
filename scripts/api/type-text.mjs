/** Writes a schema of our tables as a TypeScript type. What the tables don't use is refused, not guessed. */

export function typeText(schema, indent = "") {
  if (schema.$ref !== undefined) return schema.$ref;
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf !== undefined) return unionText(schema.anyOf, indent);
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return `ReadonlyArray<${typeText(schema.items, indent)}>`;
    case "object":
      return objectText(schema, indent);
    case undefined:
      return "unknown";
    default:
      throw new Error(`no type for ${JSON.stringify(schema)}`);
  }
}

function unionText(members, indent) {
  return members.map((member) => typeText(member, indent)).join(" | ");
}

function objectText(schema, indent) {
  if (schema.additionalProperties !== undefined) {
    return `Readonly<Record<string, ${typeText(schema.additionalProperties, indent)}>>`;
  }
  const fields = Object.entries(schema.properties);
  if (fields.length === 0) return "Readonly<Record<string, never>>";
  const required = new Set(schema.required);
  const lines = fields.map(([name, field]) => {
    const mark = required.has(name) ? "" : "?";
    return `${indent}  readonly ${name}${mark}: ${typeText(field, `${indent}  `)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}
