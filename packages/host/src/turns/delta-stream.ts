/**
 * Joins small pieces of streamed text into few transient events: at most one each `flushMs`, or one each
 * `flushMaxLength` characters. What it publishes is for eyes only and is never history.
 */
import type { AgentId, CallId, HostEvent, JsonObject, TurnId } from "@sand/protocol";

const flushMs = 50;
const flushMaxLength = 4_096;

export interface DeltaStream {
  add(text: string): void;
  /** publishes what is left and stops the timer */
  end(): void;
}

export interface DeltaSubject {
  readonly agentId: AgentId;
  readonly turnId: TurnId;
  readonly what:
    | { readonly type: "text"; readonly step: number }
    | { readonly type: "tool-output"; readonly callId: CallId };
}

export function createDeltaStream(
  publish: (events: readonly HostEvent[]) => void,
  subject: DeltaSubject,
): DeltaStream {
  let waiting = "";
  let timer: NodeJS.Timeout | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting === "") return;
    const text = waiting;
    waiting = "";
    publish([{ seq: null, channel: "turn-delta", payload: payloadOf(subject, text) }]);
  }

  return {
    add(text) {
      waiting += text;
      if (waiting.length >= flushMaxLength) flush();
      else timer ??= setTimeout(flush, flushMs);
    },
    end: flush,
  };
}

function payloadOf(subject: DeltaSubject, text: string): JsonObject {
  const { agentId, turnId, what } = subject;
  return what.type === "text"
    ? { type: "text", agentId, turnId, step: what.step, text }
    : { type: "tool-output", agentId, turnId, callId: what.callId, stream: "stdout", text };
}
