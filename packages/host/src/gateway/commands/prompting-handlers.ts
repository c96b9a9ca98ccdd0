/** Commands that bring a prompt to an agent, and tell what became of it. */
import { hash } from "node:crypto";
import {
  BoxError,
  brandId,
  type IdSource,
  limits,
  promptDigestInput,
  type SendPromptRequest,
} from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type { PromptDesk, PromptInput } from "../host-ports.ts";
import { parseAgentId } from "./agent-ids.ts";

type PromptingHandlers = Pick<CommandHandlers, "sendPrompt" | "promptAcceptanceStatus">;

export function createPromptingHandlers(desk: PromptDesk, ids: IdSource): PromptingHandlers {
  return {
    async sendPrompt(request) {
      refuseUnusable(request);
      const outcome = await desk.accept(promptInput(request, ids));
      switch (outcome.kind) {
        case "accepted":
          return { accepted: true };
        case "conflict":
          throw new BoxError("gateway/nonce-conflict", "this clientNonce was used for another prompt");
      }
    },
    promptAcceptanceStatus: (request) =>
      desk.status({
        clientNonce: brandId(request.clientNonce),
        ...(request.agentId === undefined ? {} : { agentId: parseAgentId(request.agentId) }),
      }),
  };
}

/** A prompt that can't be carried whole is refused before anything of it is kept. */
function refuseUnusable(request: SendPromptRequest): void {
  if ((request.attachmentPaths ?? []).length > 0) {
    throw new BoxError("gateway/not-implemented", "attachments are not built yet; nothing was accepted");
  }
  if (request.prompt.trim() === "") throw new BoxError("gateway/bad-request", "prompt must not be empty");
  if (Buffer.byteLength(JSON.stringify(request.prompt), "utf8") > limits.promptMaxBytes) {
    throw new BoxError("gateway/body-too-large", `the prompt is longer than ${limits.promptMaxBytes} bytes`);
  }
}

function promptInput(request: SendPromptRequest, ids: IdSource): PromptInput {
  const { agentId, replyToId, richText } = request;
  return {
    nonce: brandId(request.clientNonce ?? ids.next()),
    ...(agentId === undefined ? {} : { agentId: parseAgentId(agentId) }),
    text: request.prompt,
    ...(replyToId === undefined ? {} : { replyToId }),
    ...(richText === undefined ? {} : { richText }),
    whenBusy: request.whenBusy ?? "steer",
    digestFor: (resolved) => hash("sha256", promptDigestInput(resolved, request), "hex"),
  };
}
