/**
 * The language of the scripted model: what it answers, what goes wrong on the way, and which request gets what.
 *
 * Rules are addressed by the last user message and the number of assistant turns since, both read from the request
 * itself. So the same request always gets the same answer, also after its sender was killed and started again.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";

export interface ScriptedCall {
  /** the provider's id; left out it is minted from the request, `null` sends none */
  readonly id?: string | null;
  readonly name: string;
  /** text is sent exactly as it is, also when it is no JSON */
  readonly args: string | JsonObject;
}

export interface ScriptedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

export type ModelFault =
  /** an HTTP failure instead of a stream; `retryAfter` is sent as the header */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly retryAfter?: string;
      readonly error?: JsonValue;
    }
  /**
   * the body stops after `atByte` bytes: the connection breaks, or (`end`) closes as if all were well;
   * `recorded` is cut in place of the reply's own stream
   */
  | {
      readonly kind: "cut";
      readonly atByte: number;
      readonly how?: "break" | "end";
      readonly recorded?: string;
    }
  /** nothing is answered for `ms` */
  | { readonly kind: "delay"; readonly ms: number }
  /** stays silent until the client or the server closes */
  | { readonly kind: "hang"; readonly at: "headers" | "first-token" | "middle" | "end" }
  /** an extra frame in the middle of the stream, as text after `data: ` */
  | { readonly kind: "data"; readonly text: string; readonly after?: number }
  /** an extra raw line in the middle of the stream */
  | { readonly kind: "line"; readonly text: string; readonly after?: number }
  /** an answer with another content type, as a wrong base URL gives it */
  | { readonly kind: "body"; readonly contentType: string; readonly text: string };

export interface ModelReply {
  readonly text?: string;
  readonly reasoning?: string;
  /** an opaque block behind the reasoning; only the messages format has it */
  readonly redactedReasoning?: string;
  readonly calls?: readonly ScriptedCall[];
  /** in the words of chat completions; derived from the calls when left out; `null` sends none */
  readonly finish?: string | null;
  /** `null` reports none */
  readonly usage?: ScriptedUsage | null;
  readonly fault?: ModelFault;
  /** faults of the first attempts of one and the same request; later attempts get the reply itself */
  readonly firstAttempts?: readonly ModelFault[];
  /** pause before each frame, in `ms` */
  readonly frameDelayMs?: number;
  /** characters in each text or argument delta */
  readonly deltaChars?: number;
}

export interface SeenRequest {
  /** counted from 1 over the life of the server */
  readonly number: number;
  /** how often this very body was seen, this time included */
  readonly attempt: number;
  readonly lastUserText: string;
  /** assistant messages since the last user message */
  readonly step: number;
  /** texts of the tool messages since the last user message */
  readonly toolResults: readonly string[];
  readonly body: JsonObject;
}

export type AnswerRequest = (seen: SeenRequest) => ModelReply;

export interface ModelRule {
  readonly when: string | RegExp | ((lastUserText: string) => boolean);
  /** by `step`, the last one repeats; or a function */
  readonly steps: readonly ModelReply[] | AnswerRequest;
}

export interface RuleScript {
  readonly rules: readonly ModelRule[];
  readonly otherwise?: ModelReply;
}

/** a function, replies by request number (the last one repeats), or rules */
export type ModelScript = AnswerRequest | readonly ModelReply[] | RuleScript;

const silent: ModelReply = { text: "The script has no answer for this request." };

export function selectReply(script: ModelScript, seen: SeenRequest): ModelReply {
  if (typeof script === "function") return script(seen);
  if (isReplyList(script)) return script[Math.min(seen.number, script.length) - 1] ?? silent;
  const rule = script.rules.find((candidate) => matches(candidate.when, seen.lastUserText));
  if (rule === undefined) return script.otherwise ?? silent;
  if (typeof rule.steps === "function") return rule.steps(seen);
  return rule.steps[Math.min(seen.step, rule.steps.length - 1)] ?? silent;
}

/** The fault that this attempt meets, if any. */
export function faultOf(reply: ModelReply, attempt: number): ModelFault | undefined {
  return reply.firstAttempts?.[attempt - 1] ?? reply.fault;
}

// Array.isArray alone doesn't narrow a readonly array.
function isReplyList(script: readonly ModelReply[] | RuleScript): script is readonly ModelReply[] {
  return Array.isArray(script);
}

function matches(when: ModelRule["when"], text: string): boolean {
  if (typeof when === "string") return text === when;
  if (typeof when === "function") return when(text);
  return when.test(text);
}
