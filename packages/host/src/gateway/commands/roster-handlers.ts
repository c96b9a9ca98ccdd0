/** Commands about which agents exist and who they are. */
import { createHash } from "node:crypto";
import {
  type AgentSummary,
  BoxError,
  brandId,
  type CreateAgentRequest,
  creationDigestInput,
  slimAvatar,
} from "@sand/protocol";
import type { CommandContext, CommandHandlers } from "../command-handlers.ts";
import type { AgentDirectory, CreateAgentInput, PromptDesk } from "../host-ports.ts";
import { parseAgentId } from "./agent-ids.ts";
import { readActiveTranscript } from "./read-page.ts";

type RosterHandlers = Pick<
  CommandHandlers,
  | "listAgents"
  | "countAgents"
  | "createAgent"
  | "updateAgent"
  | "deleteAgent"
  | "deleteAgents"
  | "interruptAgentRun"
>;

export function createRosterHandlers(directory: AgentDirectory, desk: PromptDesk): RosterHandlers {
  async function remove(ids: readonly string[]) {
    await directory.remove(ids.map(parseAgentId));
    return { transcript: await readActiveTranscript(directory) };
  }

  return {
    listAgents: async (_request, context) => directory.list().map((agent) => shown(agent, context)),
    countAgents: async () => directory.count(),
    async createAgent(request, context) {
      const outcome = await directory.create(creationInput(request));
      switch (outcome.kind) {
        case "created":
        case "existing":
          return { agent: shown(outcome.agent, context), transcript: [] };
        case "conflict":
          throw new BoxError("gateway/nonce-conflict", "this clientNonce was used for another agent");
      }
    },
    async updateAgent(request, context) {
      const agent = await directory.update(parseAgentId(request.id), request.profile);
      return agent === null ? null : shown(agent, context);
    },
    deleteAgent: (request) => remove([request.id]),
    deleteAgents: (request) => remove(request.ids),
    interruptAgentRun: (request) => desk.interrupt(parseAgentId(request.id)),
  };
}

function creationInput(request: CreateAgentRequest): CreateAgentInput {
  const { name, description, title, avatarShape, avatarColor } = request;
  return {
    profile: {
      name,
      description,
      ...(title === undefined ? {} : { title }),
      ...(avatarShape === undefined ? {} : { avatarShape }),
      ...(avatarColor === undefined ? {} : { avatarColor }),
    },
    origin: request.origin ?? "user",
    ...(request.purpose === undefined ? {} : { purpose: request.purpose }),
    ...(request.clientNonce === undefined ? {} : { clientNonce: brandId(request.clientNonce) }),
    digest: createHash("sha256").update(creationDigestInput(request), "utf8").digest("hex"),
  };
}

function shown(agent: AgentSummary, context: CommandContext): AgentSummary {
  return context.slimAvatars ? slimAvatar(agent) : agent;
}
