/**
 * Reads a script from JSON, for a model server that runs as a process of its own.
 *
 * A rule has a `name` (selected by `script:<name> <args>`) or `matches` (a regular expression on the last user
 * text), and replies by step. In a reply's texts and arguments `{args}` stands for the words behind the name and
 * `{result}` for the last tool result. The fixed rules of `named-rules.ts` follow those of the file.
 */
import type { JsonObject } from "@sand/protocol";
import { Ajv } from "ajv";
import type { ModelReply, ModelRule, RuleScript, ScriptedCall, SeenRequest } from "./model-script.ts";
import { namedRules, scriptArgs } from "./named-rules.ts";

interface FileRule {
  readonly name?: string;
  readonly matches?: string;
  readonly steps: readonly ModelReply[];
}

interface ScriptFile {
  readonly rules?: readonly FileRule[];
  readonly otherwise?: ModelReply;
}

const reply = {
  type: "object",
  properties: {
    text: { type: "string" },
    reasoning: { type: "string" },
    redactedReasoning: { type: "string" },
    calls: {
      type: "array",
      items: {
        type: "object",
        required: ["name", "args"],
        properties: {
          id: { type: ["string", "null"] },
          name: { type: "string" },
          args: { type: ["string", "object"] },
        },
      },
    },
    finish: { type: ["string", "null"] },
    usage: { type: ["object", "null"] },
    fault: { type: "object", required: ["kind"] },
    firstAttempts: { type: "array", items: { type: "object", required: ["kind"] } },
    frameDelayMs: { type: "number" },
    deltaChars: { type: "number", minimum: 1 },
  },
  additionalProperties: false,
};

const fileSchema = {
  type: "object",
  properties: {
    rules: {
      type: "array",
      items: {
        type: "object",
        required: ["steps"],
        anyOf: [{ required: ["name"] }, { required: ["matches"] }],
        properties: {
          name: { type: "string" },
          matches: { type: "string" },
          steps: { type: "array", minItems: 1, items: reply },
        },
        additionalProperties: false,
      },
    },
    otherwise: reply,
  },
  additionalProperties: false,
};

export function parseScriptFile(text: string): RuleScript {
  const ajv = new Ajv({ strict: false });
  const isScriptFile = ajv.compile<ScriptFile>(fileSchema);
  const file: unknown = JSON.parse(text);
  if (!isScriptFile(file))
    throw new Error(`the script file is wrong: ${ajv.errorsText(isScriptFile.errors)}`);
  const rules = [...(file.rules ?? []).map(toRule), ...namedRules];
  return file.otherwise === undefined ? { rules } : { rules, otherwise: file.otherwise };
}

function toRule(rule: FileRule): ModelRule {
  const { name, steps } = rule;
  const pattern = rule.matches === undefined ? undefined : new RegExp(rule.matches, "u");
  return {
    when: (text) =>
      name === undefined ? (pattern?.test(text) ?? false) : scriptArgs(name, text) !== undefined,
    steps: (seen) => {
      const step = steps[Math.min(seen.step, steps.length - 1)] ?? {};
      return fillReply(
        step,
        name === undefined ? seen.lastUserText : (scriptArgs(name, seen.lastUserText) ?? ""),
        seen,
      );
    },
  };
}

function fillReply(step: ModelReply, args: string, seen: SeenRequest): ModelReply {
  const result = seen.toolResults.at(-1) ?? "";
  // A function as replacement: `$` in the user's words must stay what it is.
  const fill = (text: string): string =>
    text.replaceAll(/\{(args|result)\}/gu, (_, place: string) => (place === "args" ? args : result));
  return {
    ...step,
    ...(step.text === undefined ? {} : { text: fill(step.text) }),
    ...(step.calls === undefined ? {} : { calls: step.calls.map((call) => fillCall(call, fill)) }),
  };
}

function fillCall(call: ScriptedCall, fill: (text: string) => string): ScriptedCall {
  return { ...call, args: typeof call.args === "string" ? fill(call.args) : fillArgs(call.args, fill) };
}

function fillArgs(args: JsonObject, fill: (text: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, typeof value === "string" ? fill(value) : value]),
  );
}
