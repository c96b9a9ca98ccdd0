/** A turn of many steps, each a `true` in the shell, from a model that answers at once; and how such a turn went. */
import { waitUntil } from "../../packages/testkit/src/index.ts";
import { call } from "./host-process.mjs";
import { median } from "./statistics.mjs";

export const steps = 20;

/** `tool` is the shell's name and `args` its arguments, which differ from program to program. */
export function stepScript(tool, args) {
  const step = { calls: [{ name: tool, args }] };
  return {
    rules: [
      { matches: "^bench steps", steps: [...Array.from({ length: steps }, () => step), { text: "done" }] },
    ],
    // A peer may ask for a title of the conversation beside its work.
    otherwise: { text: "a title" },
  };
}

/** The requests behind each step of the turn named `mark`. The first one is left out: a peer asks twice there. */
export function callsOfTurn(model, mark) {
  return model
    .readCalls()
    .filter(({ lastUserText, step }) => lastUserText === `bench steps ${mark}` && step > 0);
}

/** from one model call to the next, in `ms`, over the whole turn */
export function medianGap(calls) {
  const times = calls.map(({ atMs }) => atMs);
  return median(times.slice(1).map((atMs, at) => atMs - times[at]));
}

/** Runs a turn of ours to its end. */
export async function runTurn({ host, model, agentId, mark }) {
  await call(host, "sendPrompt", { agentId, prompt: `bench steps ${mark}`, clientNonce: `steps-${mark}` });
  const isDone = async () =>
    callsOfTurn(model, mark).length >= steps && !(await call(host, "getHostStatus", {})).isBusy;
  await waitUntil("the turn to end", isDone, { deadlineMs: 120_000, everyMs: 250 });
  return callsOfTurn(model, mark);
}
