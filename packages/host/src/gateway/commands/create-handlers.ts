/** All handlers of the built commands, over the host's ports. */
import type { IdSource } from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type { AgentDirectory, HostStatus, PromptDesk } from "../host-ports.ts";
import { createPromptingHandlers } from "./prompting-handlers.ts";
import { createRosterHandlers } from "./roster-handlers.ts";
import { createTranscriptHandlers } from "./transcript-handlers.ts";

export interface HandlerDeps {
  readonly directory: AgentDirectory;
  readonly desk: PromptDesk;
  readonly status: HostStatus;
  readonly ids: IdSource;
}

export function createCommandHandlers({ directory, desk, status, ids }: HandlerDeps): CommandHandlers {
  return {
    ...createRosterHandlers(directory, desk),
    ...createPromptingHandlers(desk, ids),
    ...createTranscriptHandlers(directory, status),
  };
}
