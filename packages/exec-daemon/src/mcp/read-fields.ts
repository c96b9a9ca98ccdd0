/** Reads what a server sent: JSON of any shape, from which only what has the right type is taken. */
import { BoxError } from "@sand/protocol";

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function rowsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The JSON text of a value, or nothing where there is none. */
export function jsonOf(value: unknown): string {
  if (value === undefined) return "";
  try {
    return JSON.stringify(value) ?? "";
  } catch (error) {
    throw new BoxError("mcp/malformed", "the server's answer is nested too deeply", { cause: error });
  }
}

/** What a caller sent as the text of a JSON object; throws `exec/invalid` when it is none. */
export function parseObject(text: string, what: string): Fields {
  try {
    const value: unknown = text === "" ? {} : JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  } catch (error) {
    throw new BoxError("exec/invalid", `${what} is no JSON`, { cause: error });
  }
  throw new BoxError("exec/invalid", `${what} is no JSON object`);
}
