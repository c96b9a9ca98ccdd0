/**
 * Our own rules for a messages history, at least as strict as the provider's.
 *
 * The roles take turns and the user begins and ends. Each call has exactly one result in the very next message,
 * before any text. Nothing is blank, ids and names have the provider's form, and no id comes twice. A breach is a
 * bug of the sender.
 */
import type { JsonObject } from "@sand/protocol";
import { isObject, textOf } from "../read-json.ts";
import { resultText, type SeenMessage } from "./view-request.ts";

const idForm = /^[a-zA-Z0-9_-]+$/u;
const nameForm = /^[a-zA-Z0-9_-]{1,128}$/u;

export function findPairingBreaches(messages: readonly SeenMessage[]): readonly string[] {
  const idsSeen = new Set<string>();
  const within = messages.flatMap((message, at) => [
    ...placeBreaches(messages, at),
    ...message.blocks
      .flatMap((block) => blockBreaches(block, idsSeen))
      .map((what) => `message ${at}: ${what}`),
  ]);
  const between = messages.flatMap((message, at) =>
    resultBreaches(callIds(messages[at - 1]), message).map((what) => `message ${at}: ${what}`),
  );
  const unanswered = callIds(messages.at(-1)).map((id) => `call ${id} has no result`);
  return [...within, ...between, ...unanswered];
}

function placeBreaches(messages: readonly SeenMessage[], at: number): readonly string[] {
  const message = messages[at];
  if (message === undefined) return [];
  const wanted = at % 2 === 0 ? "user" : "assistant";
  const isLast = at === messages.length - 1;
  return [
    ...(message.role === wanted ? [] : [`message ${at}: the role is ${message.role} and not ${wanted}`]),
    ...(message.blocks.length > 0 ? [] : [`message ${at}: it is empty`]),
    ...(isLast && message.role !== "user" ? [`message ${at}: the last one isn't the user's`] : []),
  ];
}

function blockBreaches(block: JsonObject, idsSeen: Set<string>): readonly string[] {
  const type = textOf(block.type);
  switch (type) {
    case "text":
      return isBlank(textOf(block.text)) ? ["a blank text"] : [];
    case "tool_use":
      return callBreaches(block, idsSeen);
    case "tool_result":
      return isBlank(resultText(block)) ? [`a blank result for ${textOf(block.tool_use_id)}`] : [];
    default:
      return [];
  }
}

/** Also enters the id into `idsSeen`. */
function callBreaches(block: JsonObject, idsSeen: Set<string>): readonly string[] {
  const id = textOf(block.id);
  const breaches: string[] = [];
  if (!idForm.test(id)) breaches.push(`the id ${JSON.stringify(id)} has a form that is refused`);
  if (idsSeen.has(id)) breaches.push(`the id ${id} comes twice`);
  if (!nameForm.test(textOf(block.name))) breaches.push(`the name of ${id} has a form that is refused`);
  if (!isObject(block.input)) breaches.push(`the input of ${id} is no object`);
  idsSeen.add(id);
  return breaches;
}

/** What is wrong with the results in the message behind the one that made the calls `ids`. */
function resultBreaches(ids: readonly string[], message: SeenMessage): readonly string[] {
  const open = new Set(ids);
  const breaches: string[] = [];
  message.blocks.forEach((block, at) => {
    if (block.type !== "tool_result") return;
    const id = textOf(block.tool_use_id);
    if (!open.delete(id)) breaches.push(`a result for ${id} without its open call`);
    const isBehindOther = message.blocks.slice(0, at).some((earlier) => earlier.type !== "tool_result");
    if (isBehindOther) breaches.push(`the result for ${id} isn't among the first blocks`);
  });
  return [...breaches, ...[...open].map((id) => `call ${id} has no result`)];
}

function callIds(message: SeenMessage | undefined): readonly string[] {
  const calls =
    message?.role === "assistant" ? message.blocks.filter((block) => block.type === "tool_use") : [];
  return calls.map((block) => textOf(block.id));
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
