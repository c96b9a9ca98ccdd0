/**
 * Our own rules for a history that every provider accepts, stricter than any one of them.
 *
 * Each call has exactly one result directly behind its message, no result stands without its call, no id comes
 * twice, no assistant message is empty, and arguments are JSON text. A breach is a bug of the sender.
 */
import type { SeenCall, SeenMessage } from "./view-request.ts";

export function findPairingBreaches(messages: readonly SeenMessage[]): readonly string[] {
  const breaches: string[] = [];
  const idsSeen = new Set<string>();
  /** calls of the last assistant message that have no result yet */
  let open = new Map<string, SeenCall>();
  messages.forEach((message, at) => {
    if (message.role === "tool") {
      if (!open.delete(message.callId))
        breaches.push(`message ${at}: a result for ${message.callId} without its open call`);
      return;
    }
    breaches.push(...unansweredCalls(open, at));
    open = new Map();
    if (message.role !== "assistant") return;
    if (message.calls.length === 0 && message.text === "")
      breaches.push(`message ${at}: an empty assistant message`);
    for (const call of message.calls) {
      breaches.push(...callBreaches(call, idsSeen, at));
      open.set(call.id, call);
    }
  });
  return [...breaches, ...unansweredCalls(open, messages.length)];
}

function unansweredCalls(open: ReadonlyMap<string, SeenCall>, at: number): readonly string[] {
  return [...open.keys()].map((id) => `message ${at}: call ${id} has no result before this`);
}

/** Also enters the id into `idsSeen`. */
function callBreaches(call: SeenCall, idsSeen: Set<string>, at: number): readonly string[] {
  const breaches: string[] = [];
  if (call.id === "") breaches.push(`message ${at}: a call without an id`);
  if (idsSeen.has(call.id)) breaches.push(`message ${at}: the id ${call.id} comes twice`);
  idsSeen.add(call.id);
  if (!isJsonText(call.args)) breaches.push(`message ${at}: the arguments of ${call.id} are no JSON`);
  return breaches;
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
