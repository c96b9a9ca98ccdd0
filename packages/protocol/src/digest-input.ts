/**
 * What a nonce stands for. The host hashes these texts with SHA-256; the browser could too.
 *
 * Fields that a retry may change without meaning another prompt (times, traces, source, session, `whenBusy`) are left
 * out. A field that is absent and one that is null count the same, and so do an absent list and an empty one, because
 * a client's second attempt may spell the same prompt in the other way.
 */
import { canonicalJson } from "./canonical-json.ts";
import type { SendPromptRequest } from "./commands/prompting-commands.ts";
import type { CreateAgentRequest } from "./commands/roster-commands.ts";
import type { AgentId } from "./ids.ts";

export function promptDigestInput(agentId: AgentId, request: SendPromptRequest): string {
  return canonicalJson({
    agentId,
    prompt: request.prompt,
    attachmentPaths: request.attachmentPaths ?? [],
    attachmentNames: request.attachmentNames ?? [],
    richText: request.richText ?? null,
    replyToId: request.replyToId ?? null,
    isFork: request.isFork ?? false,
    directAddressedAcceptance: request.directAddressedAcceptance ?? null,
  });
}

export function creationDigestInput(request: CreateAgentRequest): string {
  return canonicalJson({
    name: request.name,
    description: request.description,
    title: request.title ?? "",
    avatarShape: request.avatarShape ?? null,
    avatarColor: request.avatarColor ?? null,
    origin: request.origin ?? "user",
    purpose: request.purpose ?? null,
    templateId: request.templateId ?? null,
  });
}
