/**
 * Reads the parts of a messages request that scripts and rules look at, from any JSON.
 *
 * One message holds several blocks here: the results of all calls come in one user message, and prompts that follow
 * each other are its further texts. So a prompt is a text block and not a message.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { arrayOf, objectOf, textOf } from "../read-json.ts";
import type { RequestView } from "../wire-format.ts";

export interface SeenMessage {
  readonly role: string;
  readonly blocks: readonly JsonObject[];
}

export function viewMessages(body: JsonObject): readonly SeenMessage[] {
  return arrayOf(body.messages).map((value) => {
    const message = objectOf(value);
    return { role: textOf(message.role), blocks: blocksOf(message.content) };
  });
}

export function blocksOf(content: JsonValue | undefined): readonly JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content).map(objectOf);
}

export function viewRequest(body: JsonObject): RequestView {
  const messages = viewMessages(body);
  const items = messages.flatMap(itemsOf);
  const userTexts = items.flatMap((item) => (item.kind === "prompt" ? [item.text] : []));
  const since = items.slice(items.findLastIndex((item) => item.kind === "prompt") + 1);
  return {
    model: textOf(body.model),
    stream: body.stream === true,
    lastUserText: userTexts.at(-1) ?? "",
    step: since.filter((item) => item.kind === "answer").length,
    toolResults: since.flatMap((item) => (item.kind === "result" ? [item.text] : [])),
    userTexts,
  };
}

interface Item {
  readonly kind: "prompt" | "answer" | "result";
  readonly text: string;
}

function itemsOf(message: SeenMessage): readonly Item[] {
  if (message.role === "assistant") return [{ kind: "answer", text: "" }];
  return message.blocks.flatMap((block): readonly Item[] => {
    if (block.type === "text") return [{ kind: "prompt", text: textOf(block.text) }];
    return block.type === "tool_result" ? [{ kind: "result", text: resultText(block) }] : [];
  });
}

export function resultText(block: JsonObject): string {
  return blocksOf(block.content)
    .map((inner) => textOf(inner.text))
    .join("");
}
