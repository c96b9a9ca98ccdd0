/**
 * The port of the model: a request in, typed parts out. Adapters live in `@sand/inference`.
 *
 * A stream never throws for what a provider does: every failure is an `error` part and the last one. A stream that
 * ends without a `finish` part is incomplete, and nothing of it may be committed or run.
 */
import type { ErrorCode, JsonObject, RequestId } from "@sand/protocol";
import type { StepFinish, UsageRecord } from "./turn-records.ts";

export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly calls: readonly {
        readonly providerCallId: string;
        readonly name: string;
        readonly argsText: string;
      }[];
      /** kept only for the provider and model that made it; an adapter drops it on any mismatch */
      readonly reasoning: readonly {
        readonly provider: string;
        readonly model: string;
        readonly part: JsonObject;
      }[];
    }
  | {
      readonly role: "tool";
      readonly providerCallId: string;
      readonly name: string;
      readonly text: string;
      readonly isError: boolean;
    };

export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments */
  readonly parameters: JsonObject;
}

export interface ModelRequest {
  readonly requestId: RequestId;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDescription[];
  readonly parameters: { readonly maxOutputTokens?: number; readonly temperature?: number };
  /** give no reasoning back: the provider refused the one that it got (`inference/bad-reasoning`) */
  readonly dropReasoning?: boolean;
}

export type ModelPart =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  /** a whole call; `argsText` is as received and may be malformed */
  | {
      readonly type: "tool-call";
      readonly providerCallId: string | null;
      readonly name: string;
      readonly argsText: string;
    }
  /** a part kept for replay only */
  | { readonly type: "raw"; readonly part: JsonObject }
  | { readonly type: "finish"; readonly finish: StepFinish; readonly usage: UsageRecord }
  | {
      readonly type: "error";
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      /** the provider's own wish, in `ms` */
      readonly retryAfterMs: number | null;
    };

export interface ModelPort {
  /** names that bind reasoning metadata, for instance `openai-compatible` and `gpt-x` */
  readonly provider: string;
  readonly model: string;
  /** Streams one step. Ends by itself within its first-token and idle deadlines; ends early when `signal` aborts. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>;
}
