/**
 * Hands a prompt over so that it is accepted once. The nonce is what makes a repeat safe: an answer that got lost on
 * the way is asked for again under the same one, and the host runs the prompt a single time.
 */
import type { Clock } from "@sand/protocol";
import { CommandFailure } from "../command-failure.ts";
import type { GatewayAccess } from "./gateway-access.ts";

export const busyChoices = ["steer", "queue", "interrupt"] as const;
export type BusyChoice = (typeof busyChoices)[number];

export interface Prompt {
  readonly agentId: string;
  readonly text: string;
  readonly nonce: string;
  readonly whenBusy?: BusyChoice;
}

const triesMax = 4;
const firstPauseMs = 250;

export async function sendPrompt(access: GatewayAccess, prompt: Prompt, clock: Clock): Promise<void> {
  const body = {
    agentId: prompt.agentId,
    prompt: prompt.text,
    clientNonce: prompt.nonce,
    ...(prompt.whenBusy === undefined ? {} : { whenBusy: prompt.whenBusy }),
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      await access.client().call("sendPrompt", body);
      return;
    } catch (error) {
      const repeatable =
        error instanceof CommandFailure && (error.exit === "notRunning" || error.exit === "serverError");
      if (!repeatable || error.failureCode === "gateway/not-implemented" || attempt >= triesMax) throw error;
      await clock.sleep(firstPauseMs * 2 ** (attempt - 1));
      access.relocate();
    }
  }
}
