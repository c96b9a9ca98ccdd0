/** Performs one effect of a turn. Each branch commits its intent before, and its result after, what it does. */
import type { Effect } from "@sand/agent-core";
import { failpoint } from "@sand/node-kit";
import { callModel } from "./call-model.ts";
import { ensureTurnBox } from "./ensure-turn-box.ts";
import { deliverPrompt } from "./open-turn.ts";
import { refuseCalls } from "./refuse-calls.ts";
import { runCalls } from "./run-calls.ts";
import { settleTurn } from "./settle-turn.ts";
import type { TurnContext } from "./turn-context.ts";

export async function performEffect(
  context: TurnContext,
  effect: Exclude<Effect, { type: "done" }>,
): Promise<void> {
  switch (effect.type) {
    case "ensureBox":
      return await ensureTurnBox(context);
    case "deliverPrompts":
      return await deliverPrompts(context, effect);
    case "waitToRetry":
      return await waitToRetry(context, effect.untilMs);
    case "callModel":
      return await callModel(context, effect);
    case "refuseCalls":
      return await refuseCalls(context, effect.calls, effect.why);
    case "runCalls":
    case "stopCalls":
      return await runCalls(context, effect.calls);
    case "settle":
      return await settleTurn(context, effect);
  }
}

async function deliverPrompts(
  context: TurnContext,
  effect: Extract<Effect, { type: "deliverPrompts" }>,
): Promise<void> {
  const { handle, fence, services } = context;
  await handle.commit((tx) => {
    for (const prompt of effect.prompts)
      deliverPrompt(tx, { fence, prompt, beforeStep: effect.beforeStep, atMs: services.clock.nowMs() });
  });
  failpoint("deliver.after");
}

async function waitToRetry(context: TurnContext, untilMs: number): Promise<void> {
  const { clock } = context.services;
  await clock.sleep(
    Math.max(0, untilMs - clock.nowMs()),
    AbortSignal.any([context.interrupted, context.stopping, context.quiescing]),
  );
}
