/**
 * The one parser of command bodies. What comes out holds only fields of the schema, copied into a fresh object, so a
 * `__proto__` in the body reaches nobody. A field that is null counts as absent where the schema has it optional and
 * doesn't know null. A wrong body is a `BoxError gateway/bad-request` that names the field.
 */
import Type, { type TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { BoxError } from "../errors.ts";
import { limits } from "../limits.ts";
import { type BuiltCommandName, builtCommands, type CommandRequest } from "./command-table.ts";

const validators = new Map<BuiltCommandName, Validator>();

function validatorOf(name: BuiltCommandName): Validator {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const schema: TSchema = builtCommands[name].request;
  const made: Validator = Compile(schema);
  validators.set(name, made);
  return made;
}

export function parseRequest<Name extends BuiltCommandName>(name: Name, body: unknown): CommandRequest<Name> {
  const validator = validatorOf(name);
  if (!isPlainObject(body)) throw new BoxError("gateway/bad-request", "the body must be a JSON object");
  if (isDeeperThan(body, limits.bodyMaxDepth)) {
    throw new BoxError(
      "gateway/bad-request",
      `the body is nested more than ${limits.bodyMaxDepth} levels deep`,
    );
  }
  const request = pickKnown(builtCommands[name].request, body);
  if (!validator.Check(request))
    throw new BoxError("gateway/bad-request", describeFailure(validator, request));
  return request as CommandRequest<Name>;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}

function pickKnown(schema: TSchema, value: unknown): unknown {
  if (!isPlainObject(value)) return value;
  const shape = objectShapeOf(schema);
  if (shape === undefined) return value;
  const picked: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(shape.properties)) {
    if (!Object.hasOwn(value, key)) continue;
    const member = value[key];
    if (member === null && Type.IsOptional(field) && !allowsNull(field)) continue;
    picked[key] = pickKnown(field, member);
  }
  return picked;
}

/** The fields of an object, also of one that may be null instead. */
function objectShapeOf(schema: TSchema): Type.TObject | undefined {
  if (Type.IsObject(schema)) return schema;
  return Type.IsUnion(schema) ? schema.anyOf.find((member) => Type.IsObject(member)) : undefined;
}

function allowsNull(schema: TSchema): boolean {
  return Type.IsUnion(schema) && schema.anyOf.some((member) => Type.IsNull(member));
}

function describeFailure(validator: Validator, request: unknown): string {
  const [first] = validator.Errors(request);
  if (first === undefined) return "the body doesn't match its schema";
  const path = first.instancePath.split("/").filter(Boolean);
  if (first.keyword === "required") {
    const [missing] = first.params.requiredProperties;
    return `${[...path, missing ?? "?"].join(".")} is required`;
  }
  return `${path.join(".") || "the body"} ${first.message}`;
}
