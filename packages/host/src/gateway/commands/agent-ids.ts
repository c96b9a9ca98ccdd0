/** Turns the ids of a request into branded ones. An id becomes a folder's name, so an unsafe one stops here. */
import { type AgentId, BoxError, isSafeAgentId } from "@sand/protocol";

export function parseAgentId(text: string): AgentId {
  if (!isSafeAgentId(text)) throw new BoxError("gateway/unsafe-agent-id", "unsafe agent id");
  return text;
}
