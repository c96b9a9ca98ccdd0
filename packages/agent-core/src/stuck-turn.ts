/**
 * Whether a model goes round in a circle: it asks for calls that can't be run, is told why, and asks again. Malformed
 * arguments and answers that are cut off make models do that, and each round costs a model call.
 *
 * Only calls that were never begun count. One that ran and failed is work, and doing it again may be right.
 */
import { turnLimits } from "./limits.ts";
import type { StepView, TurnView } from "./turn-view.ts";

export function isStuck(view: TurnView): boolean {
  const { sameRefusalsMax, refusedStepsMax } = turnLimits;
  const newest = view.steps.slice(-refusedStepsMax);
  // A prompt that joined may be what the model needs to get out of the circle.
  const joinedAt = view.prompts.at(-1)?.beforeStep ?? 0;
  const refused = newest.filter((step) => step.step >= joinedAt);
  const tail = refused.slice(refused.findLastIndex((step) => !isRefused(step)) + 1);
  if (tail.length >= refusedStepsMax) return true;
  const same = tail.slice(-sameRefusalsMax);
  return same.length === sameRefusalsMax && new Set(same.map(wishOf)).size === 1;
}

function isRefused({ calls }: StepView): boolean {
  return (
    calls.length > 0 && calls.every(({ intent, result }) => intent === null && result?.outcome === "error")
  );
}

/** what a step asked for, without the ids that a provider makes anew each time */
function wishOf({ calls }: StepView): string {
  return JSON.stringify(calls.map(({ call }) => [call.name, call.argsText]));
}
