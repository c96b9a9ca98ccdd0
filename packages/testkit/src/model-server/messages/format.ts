/** The wire format of Anthropic's messages. */
import type { WireFormat } from "../wire-format.ts";
import { findPairingBreaches } from "./check-pairing.ts";
import { findCacheBreaches, findReasoningBreaches } from "./check-reasoning.ts";
import { createSchemaCheck } from "./check-schema.ts";
import { encodeBody, encodeFrames, eventFrame } from "./encode-reply.ts";
import { viewMessages, viewRequest } from "./view-request.ts";

export function createMessagesFormat(): WireFormat {
  const checkSchema = createSchemaCheck();
  return {
    path: "/v1/messages",
    view: viewRequest,
    includesUsage: () => true,
    judge(body, headers) {
      const messages = viewMessages(body);
      return [
        ...(headers["anthropic-version"] === undefined ? ["the header anthropic-version is missing"] : []),
        ...checkSchema(body),
        ...findPairingBreaches(messages),
        ...findReasoningBreaches(body, messages),
        ...findCacheBreaches(body, messages),
      ];
    },
    // The provider takes either, and its own SDK has changed from one to the other.
    hasKey: (headers, apiKey) =>
      headers["x-api-key"] === apiKey || headers.authorization === `Bearer ${apiKey}`,
    encodeFrames,
    encodeBody,
    frame: eventFrame,
    errorBody: (error) => ({ type: "error", error }),
  };
}
