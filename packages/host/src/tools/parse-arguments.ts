/**
 * Turns the arguments of a call, exactly as the model sent them, into a value that the tool can trust; or into a
 * text that tells the model what is wrong and where.
 *
 * Nothing is repaired. Guessing at the end of a cut-off command would run something that nobody asked for, so the
 * failure goes back as the call's result, and the model sends the call again.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { Check, Errors } from "typebox/value";
import { findJsonFault } from "./find-json-fault.ts";
import { argumentFaultsMax, argumentsMaxChars } from "./limits.ts";
import { isSafeText, makeTextSafe } from "./safe-text.ts";

export type ParsedArguments =
  | { readonly ok: true; readonly args: JsonObject }
  /** `text` is the call's result: outcome `error`, and nothing was run */
  | { readonly ok: false; readonly text: string; readonly details: JsonObject };

const excerptBefore = 40;
const excerptAfter = 20;
const fieldNameMaxChars = 80;

/** `parameters` is the JSON schema of the tool's description. */
export function parseArguments(argsText: string, parameters: JsonObject): ParsedArguments {
  if (argsText.length > argumentsMaxChars) {
    return refuse(
      "too-long",
      `The arguments have ${argsText.length} characters; at most ${argumentsMaxChars} are taken.`,
    );
  }
  const value = parseJson(argsText);
  if (value === undefined) return describeJsonFault(argsText);
  const faults = findSchemaFaults(parameters, value);
  if (faults.length > 0)
    return refuse("schema", `The arguments don't fit the tool: ${faults.join("; ")}.`, { faults });
  const field = findUnsafeText(value, "");
  if (field !== undefined) {
    return refuse(
      "unsafe-text",
      `${field} holds a NUL or half of a surrogate pair, which no file or command can hold.`,
      { field },
    );
  }
  if (!isObject(value)) return refuse("schema", "The arguments don't fit the tool: must be an object.");
  return { ok: true, args: value };
}

function refuse(fault: string, text: string, details: JsonObject = {}): ParsedArguments {
  return {
    ok: false,
    text: `${text} The tool was not run. Send the call again.`,
    details: { argumentFault: fault, ...details },
  };
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function describeJsonFault(argsText: string): ParsedArguments {
  if (argsText.trim() === "")
    return refuse("json", "The arguments are empty; send {} when there are none.", { position: 0 });
  const fault = findJsonFault(argsText) ?? { position: 0, expected: "valid JSON" };
  const { position, expected } = fault;
  const before = argsText.slice(Math.max(0, position - excerptBefore), position);
  const after = argsText.slice(position, position + excerptAfter);
  const cutOff = position === argsText.length;
  const place = cutOff
    ? `they end at position ${position}, where ${expected} has to follow, so they were probably cut off; they end with`
    : `expected ${expected} at position ${position} (${lineAndColumn(argsText, position)}), after`;
  const excerpt = cutOff
    ? JSON.stringify(makeTextSafe(before))
    : `${JSON.stringify(makeTextSafe(before))}, but found ${JSON.stringify(makeTextSafe(after))}`;
  return refuse("json", `The arguments are not valid JSON: ${place} ${excerpt}.`, { position, cutOff });
}

function lineAndColumn(text: string, position: number): string {
  const before = text.slice(0, position);
  const line = before.split("\n").length;
  return `line ${line}, column ${position - before.lastIndexOf("\n")}`;
}

/** `Check` decides. `Errors` only explains, and stops after a few: an empty list from it proves nothing. */
function findSchemaFaults(parameters: JsonObject, value: JsonValue): string[] {
  if (Check(parameters, value)) return [];
  const faults: string[] = [];
  for (const error of Errors(parameters, value)) {
    const path = fieldPath(error.instancePath);
    // An unknown field is reported twice: once at its own path, where the schema is `false`, and once at the object.
    if (error.keyword === "additionalProperties") continue;
    if (error.keyword === "boolean") {
      faults.push(`unknown field ${JSON.stringify(makeTextSafe(path.slice(0, fieldNameMaxChars)))}`);
    } else if (error.keyword === "required") {
      faults.push(
        ...error.params.requiredProperties.map(
          (name) => `${path === "" ? name : `${path}.${name}`} is missing`,
        ),
      );
    } else {
      faults.push(path === "" ? error.message : `${path} ${error.message}`);
    }
  }
  if (faults.length === 0) return ["something in them is wrong"];
  const shown = faults.slice(0, argumentFaultsMax);
  return faults.length > shown.length ? [...shown, "and more"] : shown;
}

/** A JSON pointer as people write a field: `/edits/0/path` is `edits[0].path`. */
function fieldPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
}

/** The path of the first text that can't be written as UTF-8. The schema has bounded the depth already. */
function findUnsafeText(value: JsonValue, path: string): string | undefined {
  if (typeof value === "string") return isSafeText(value) ? undefined : path;
  if (value === null || typeof value !== "object") return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const found = findUnsafeText(inner, path === "" ? name : `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isObject(value: JsonValue): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
