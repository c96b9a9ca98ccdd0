/**
 * Hands a prompt over so that it is accepted exactly once, whatever happens to the connection on the way.
 *
 * The nonce makes it safe: an answer that got lost leaves open whether the prompt was accepted, so the host is asked
 * what became of the nonce, and the prompt is sent again under the same one only when the host doesn't have it.
 */
import { GatewayError } from "./gateway-error.ts";
import type { Commands } from "./gen/api.ts";
import { pause } from "./pause.ts";

export type Prompt = Commands["sendPrompt"]["request"];

export interface ReliableOptions {
  readonly signal?: AbortSignal;
  /** when to stop trying, in `ms` */
  readonly deadlineMs?: number;
}

export interface AcceptedPrompt {
  /** under which the prompt was accepted */
  readonly clientNonce: string;
}

/** The time is over and it isn't known whether the prompt was accepted. Sending it again is safe under this nonce. */
export class PromptUnsettledError extends Error {
  readonly clientNonce: string;

  constructor(clientNonce: string, cause: unknown) {
    super("it isn't known whether the prompt was accepted; send it again under the same clientNonce", {
      cause,
    });
    this.name = "PromptUnsettledError";
    this.clientNonce = clientNonce;
  }
}

const deadlineDefaultMs = 120_000;
const firstPauseMs = 250;
const pauseMaxMs = 5_000;

export interface ReliableDeps {
  sendPrompt(request: Prompt, options: { readonly signal?: AbortSignal }): Promise<unknown>;
  promptAcceptanceStatus(
    request: Commands["promptAcceptanceStatus"]["request"],
    options: { readonly signal?: AbortSignal },
  ): Promise<Commands["promptAcceptanceStatus"]["response"]>;
}

export async function sendPromptReliably(
  deps: ReliableDeps,
  prompt: Prompt,
  { signal, deadlineMs = deadlineDefaultMs }: ReliableOptions = {},
): Promise<AcceptedPrompt> {
  const clientNonce = prompt.clientNonce ?? freshNonce();
  const options = signal === undefined ? {} : { signal };
  const endsAtMs = Date.now() + deadlineMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, pauseMaxMs)) {
    const failure = await attempt(() => deps.sendPrompt({ ...prompt, clientNonce }, options));
    if (failure === undefined) return { clientNonce };
    if (await wasAccepted(deps, { clientNonce, agentId: prompt.agentId }, options)) return { clientNonce };
    if (Date.now() + pauseMs > endsAtMs) throw new PromptUnsettledError(clientNonce, failure);
    await pause(pauseMs, signal);
    signal?.throwIfAborted();
  }
}

/** The failure when the same request may be sent again; what no repeat can mend is thrown. */
async function attempt(send: () => Promise<unknown>): Promise<GatewayError | undefined> {
  try {
    await send();
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError && error.retry !== "never") return error;
    throw error;
  }
}

async function wasAccepted(
  deps: ReliableDeps,
  { clientNonce, agentId }: { readonly clientNonce: string; readonly agentId: string | undefined },
  options: { readonly signal?: AbortSignal },
): Promise<boolean> {
  const request = {
    accountSlot: "host",
    clientNonce,
    ...(agentId === undefined ? {} : { agentId }),
  } as const;
  try {
    const { outcome } = await deps.promptAcceptanceStatus(request, options);
    return outcome === "found";
  } catch (error) {
    // A host that can't say it now is asked again after the next try; a host that never will, by the next try alone.
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** `crypto.randomUUID` is missing on pages that came over plain HTTP. */
function freshNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
