/** Answers calls that must not run: each gets an error result that tells the model why. */
import type { CallView } from "@sand/agent-core";
import { errorResult, settleCall } from "./settle-call.ts";
import type { TurnContext } from "./turn-context.ts";

export async function refuseCalls(
  context: TurnContext,
  calls: readonly CallView[],
  why: string,
): Promise<void> {
  await context.handle.commit((tx) => {
    for (const call of calls) settleCall(tx, context, call, errorResult(why));
  });
}
