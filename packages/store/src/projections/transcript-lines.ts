/**
 * The lines of a conversation's journal, made from the records of its turns (contract gateway §5, the JSONL shapes).
 *
 * Records are only ever appended, so a line once written never changes, and the same records give the same bytes.
 * A record of a kind that says nothing to a reader has no line. No line has a time, and none has what a provider sent
 * beside the text.
 */
import type { ToolCallRecord, TurnRecord } from "@sand/agent-core";
import type { JsonObject, JsonValue } from "@sand/protocol";

/** the first line of each file */
export const headLine = lineOf({ type: "metadata", version: 1 });

export interface RecordInTurn {
  readonly generation: number;
  readonly record: TurnRecord;
  /** the name of a call of this turn */
  readonly toolName: (callId: string) => string;
}

/** The record's line, or an empty text. */
export function transcriptLine({ generation, record, toolName }: RecordInTurn): string {
  switch (record.kind) {
    case "promptDelivered":
      return message("user", [{ type: "text", text: `${turnTag(generation)}\n${record.prompt.text}` }]);
    case "stepCompleted":
      return stepLine(record);
    case "toolSettled": {
      const { callId, outcome, text } = record.result;
      const result = outcome === "ok" ? { success: text } : { failure: text };
      return message("tool", [{ type: "tool_result", name: toolName(callId), result }]);
    }
    case "turnSettled":
      return lineOf({ type: "turn_ended", outcome: record.outcome, code: record.code });
    case "turnStarted":
    case "turnResumed":
    case "boxReady":
    case "boxAbsent":
    case "stepPrepared":
    case "stepFailed":
    case "callReviewed":
    case "toolIntended":
    case "interruptRequested":
      return "";
  }
}

/** Each of a user's texts has the tag, so that a reader who takes it off never takes off what the user wrote. */
function turnTag(generation: number): string {
  return `[t${generation - 1}u]`;
}

type Step = Extract<TurnRecord, { readonly kind: "stepCompleted" }>;

/** The text that ends a turn is what the user sees, so it stands as the message that was sent. */
function stepLine({ text, answerEntryId, calls }: Step): string {
  const said: readonly JsonObject[] =
    text === ""
      ? []
      : answerEntryId === null
        ? [{ type: "text", text }]
        : [{ type: "tool_use", name: "send_message", input: { text: { content: text } } }];
  const parts = [...said, ...calls.map(callPart)];
  return parts.length === 0 ? "" : message("assistant", parts);
}

function callPart(call: ToolCallRecord): JsonObject {
  return { type: "tool_use", name: call.name, input: inputOf(call.argsText) };
}

/** Arguments that are no JSON stand as they came. */
function inputOf(argsText: string): JsonValue {
  try {
    return JSON.parse(argsText) as JsonValue;
  } catch {
    return argsText;
  }
}

function message(role: "user" | "assistant" | "tool", content: readonly JsonObject[]): string {
  return lineOf({ role, message: { content: [...content] } });
}

function lineOf(value: JsonObject): string {
  return `${JSON.stringify(value)}\n`;
}
