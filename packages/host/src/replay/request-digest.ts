/**
 * The hash of a request as `hashRequest` makes it, without the whole request: messages are only ever added within a
 * turn, so what was hashed once is gone on from. A turn of many steps would otherwise cost the square of their number.
 */
import { createHash, type Hash } from "node:crypto";
import {
  createIdSeparator,
  type IdSeparator,
  type ModelMessage,
  messagesOfTurn,
  messagesThroughStep,
  promptsBefore,
  type TurnView,
} from "@sand/agent-core";

export interface RequestDigest {
  /** adds a whole turn */
  addTurn(turn: TurnView): void;
  /** the request of the turn's upcoming step */
  ofNextStep(turn: TurnView, tools: string): { readonly hash: string; readonly messages: number };
  /** adds what is left of a turn that `ofNextStep` was asked for */
  finishTurn(turn: TurnView): void;
}

export function createRequestDigest(system: string): RequestDigest {
  const hash = createHash("sha256");
  const uniqueId: IdSeparator = createIdSeparator();
  let messages = 0;
  let stepsAdded = 0;
  hash.update('{"messages":[');
  messages = append(hash, messages, [{ role: "system", text: system }]);

  function addSteps(turn: TurnView): void {
    for (const step of turn.steps.slice(stepsAdded))
      messages = append(hash, messages, messagesThroughStep(turn, step, uniqueId));
    stepsAdded = turn.steps.length;
  }

  return {
    addTurn(turn) {
      messages = append(hash, messages, messagesOfTurn(turn, uniqueId));
    },
    ofNextStep(turn, tools) {
      addSteps(turn);
      const whole = hash.copy();
      const count = append(whole, messages, promptsBefore(turn, turn.steps.length + 1));
      const dropped = turn.reasoningRefused ? ',"dropReasoning":true' : "";
      whole.update(`],"tools":${tools},"parameters":{}${dropped}}`);
      return { hash: whole.digest("hex"), messages: count };
    },
    finishTurn(turn) {
      addSteps(turn);
      messages = append(hash, messages, promptsBefore(turn, turn.steps.length + 1));
      stepsAdded = 0;
    },
  };
}

function append(hash: Hash, count: number, added: readonly ModelMessage[]): number {
  let total = count;
  for (const message of added) {
    hash.update((total === 0 ? "" : ",") + JSON.stringify(message));
    total += 1;
  }
  return total;
}
