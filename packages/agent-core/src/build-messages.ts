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

/** Tells ids that were given before apart; asked in the order of a request. */
export type IdSeparator = (id: string) => string;

export function createIdSeparator(): IdSeparator {
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
  const steps = turn.steps.flatMap((step) => messagesThroughStep(turn, step, uniqueId));
  return [...steps, ...promptsOf(turn, (beforeStep) => beforeStep > turn.steps.length)];
}

/** One completed step with the prompts that joined before it. */
export function messagesThroughStep(
  turn: TurnView,
  step: StepView,
  uniqueId: IdSeparator,
): readonly ModelMessage[] {
  return [...promptsBefore(turn, step.step), ...messagesOfStep(step, uniqueId)];
}

export function promptsBefore(turn: TurnView, step: number): readonly ModelMessage[] {
  return promptsOf(turn, (beforeStep) => beforeStep === step);
}

function promptsOf(turn: TurnView, belongs: (beforeStep: number) => boolean): readonly ModelMessage[] {
  return turn.prompts
    .filter(({ beforeStep }) => belongs(beforeStep))
    .map(({ prompt }) => ({ role: "user", text: prompt.text }));
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
