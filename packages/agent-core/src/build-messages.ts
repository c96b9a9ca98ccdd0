/**
 * Turns stored history into a request that every provider accepts.
 *
 * INV-5: for any stored history each call in a request has exactly one result, right behind the message that made it.
 * A call without a result (the turn was cut short there) gets one that says so. Ids that a provider gave twice are
 * told apart by a suffix, the same for call and result.
 */
import type { ModelMessage } from "./model-port.ts";
import type { CallView, StepView, TurnView } from "./turn-view.ts";

const missingResult = "This call was cut short; whether it had any effect is not known.";

/** Messages of whole turns, oldest first, behind the system text. */
export function buildMessages(systemText: string, turns: readonly TurnView[]): readonly ModelMessage[] {
  const uniqueId = createIdSeparator();
  return [{ role: "system", text: systemText }, ...turns.flatMap((turn) => messagesOfTurn(turn, uniqueId))];
}

/** A cheap estimate of a turn's size, for the window: four characters a token, and some for each message. */
export function estimateTokens(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + 8 + Math.ceil(lengthOf(message) / 4), 0);
}

function lengthOf(message: ModelMessage): number {
  if (message.role !== "assistant") return message.text.length;
  const calls = message.calls.reduce((sum, call) => sum + call.name.length + call.argsText.length, 0);
  return message.text.length + calls;
}

type IdSeparator = (id: string) => string;

function createIdSeparator(): IdSeparator {
  const uses = new Map<string, number>();
  const given = new Set<string>();
  return (id) => {
    let candidate = id;
    while (given.has(candidate)) {
      const count = (uses.get(id) ?? 1) + 1;
      uses.set(id, count);
      candidate = `${id}_${count}`;
    }
    given.add(candidate);
    return candidate;
  };
}

export function messagesOfTurn(
  turn: TurnView,
  uniqueId: IdSeparator = createIdSeparator(),
): readonly ModelMessage[] {
  const messages: ModelMessage[] = [];
  for (const step of turn.steps) {
    pushPrompts(messages, turn, (beforeStep) => beforeStep === step.step);
    messages.push(...messagesOfStep(step, uniqueId));
  }
  pushPrompts(messages, turn, (beforeStep) => beforeStep > turn.steps.length);
  return messages;
}

function pushPrompts(
  messages: ModelMessage[],
  turn: TurnView,
  belongs: (beforeStep: number) => boolean,
): void {
  for (const delivered of turn.prompts) {
    if (belongs(delivered.beforeStep)) messages.push({ role: "user", text: delivered.prompt.text });
  }
}

function messagesOfStep(step: StepView, uniqueId: IdSeparator): readonly ModelMessage[] {
  const { completed } = step;
  // An empty assistant message is refused by strict providers, so a step that said nothing leaves none.
  if (completed.text === "" && step.calls.length === 0) return [];
  const named = step.calls.map((call) => ({ call, id: uniqueId(call.call.providerCallId) }));
  const reasoning = completed.rawParts.map((part) => ({
    provider: completed.provider,
    model: completed.model,
    part,
  }));
  const calls = named.map(({ call, id }) => ({
    providerCallId: id,
    name: call.call.name,
    argsText: call.call.argsText,
  }));
  return [
    { role: "assistant", text: completed.text, calls, reasoning },
    ...named.map(({ call, id }): ModelMessage => resultMessage(call, id)),
  ];
}

function resultMessage(call: CallView, id: string): ModelMessage {
  const text = call.result?.text ?? missingResult;
  return {
    role: "tool",
    providerCallId: id,
    name: call.call.name,
    text,
    isError: call.result?.outcome !== "ok",
  };
}
