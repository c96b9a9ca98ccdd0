/**
 * Reads the parts of a chat completions request that scripts and pairing rules look at.
 *
 * The schema check judges the whole body; this view takes what it can of any JSON, so that a broken request can
 * still be named in a violation.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { arrayOf, objectOf, textOf } from "../read-json.ts";
import type { RequestView } from "../wire-format.ts";

export interface SeenCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

export interface SeenMessage {
  readonly role: string;
  readonly text: string;
  readonly calls: readonly SeenCall[];
  /** of a tool message */
  readonly callId: string;
}

export function viewMessages(body: JsonObject): readonly SeenMessage[] {
  return arrayOf(body.messages).map(viewMessage);
}

export function viewRequest(body: JsonObject): RequestView {
  const messages = viewMessages(body);
  const users = messages.filter((message) => message.role === "user");
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  const since = messages.slice(lastUser + 1);
  return {
    model: textOf(body.model),
    stream: body.stream === true,
    lastUserText: messages[lastUser]?.text ?? "",
    step: since.filter((message) => message.role === "assistant").length,
    toolResults: since.filter((message) => message.role === "tool").map((message) => message.text),
    userTexts: users.map((message) => message.text),
  };
}

function viewMessage(value: JsonValue): SeenMessage {
  const message = objectOf(value);
  return {
    role: textOf(message.role),
    text: contentText(message.content),
    calls: arrayOf(message.tool_calls).map(viewCall),
    callId: textOf(message.tool_call_id),
  };
}

function viewCall(value: JsonValue): SeenCall {
  const call = objectOf(value);
  const fn = objectOf(call.function);
  return { id: textOf(call.id), name: textOf(fn.name), args: textOf(fn.arguments) };
}

function contentText(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .map((part) => textOf(objectOf(part).text))
    .join("");
}
