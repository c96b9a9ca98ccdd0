/** The wire format of OpenAI's chat completions. */
import { objectOf } from "../read-json.ts";
import type { WireFormat } from "../wire-format.ts";
import { findPairingBreaches } from "./check-pairing.ts";
import { createSchemaCheck } from "./check-schema.ts";
import { dataFrame, encodeBody, encodeFrames } from "./encode-reply.ts";
import { viewMessages, viewRequest } from "./view-request.ts";

export function createChatFormat(): WireFormat {
  const checkSchema = createSchemaCheck();
  return {
    path: "/v1/chat/completions",
    view: viewRequest,
    includesUsage: (body) => objectOf(body.stream_options).include_usage === true,
    judge: (body) => [...checkSchema(body), ...findPairingBreaches(viewMessages(body))],
    hasKey: (headers, apiKey) => headers.authorization === `Bearer ${apiKey}`,
    encodeFrames,
    encodeBody,
    frame: dataFrame,
    errorBody: (error) => ({ error }),
  };
}
