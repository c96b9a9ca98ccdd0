/** All handlers of the built commands, over the host's ports. */
import type { IdSource } from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type {
  AgentDirectory,
  AgentSwitches,
  BoxStoreDesk,
  HostSettingsDesk,
  HostStatus,
  PromptDesk,
  SearchDesk,
} from "../host-ports.ts";
import { createBoxStoreHandlers } from "./box-store-handlers.ts";
import { createHostHandlers } from "./host-handlers.ts";
import { createPromptingHandlers } from "./prompting-handlers.ts";
import { createRosterHandlers } from "./roster-handlers.ts";
import { createSearchHandlers } from "./search-handlers.ts";
import { createSwitchHandlers } from "./switch-handlers.ts";
import { createTranscriptHandlers } from "./transcript-handlers.ts";

export interface HandlerDeps {
  readonly directory: AgentDirectory;
  readonly switches: AgentSwitches;
  readonly settings: HostSettingsDesk;
  readonly desk: PromptDesk;
  readonly boxStore: BoxStoreDesk;
  readonly search: SearchDesk;
  readonly status: HostStatus;
  readonly ids: IdSource;
}

export function createCommandHandlers(deps: HandlerDeps): CommandHandlers {
  const { directory, desk, status } = deps;
  return {
    ...createRosterHandlers(directory, desk),
    ...createPromptingHandlers(desk, deps.ids),
    ...createTranscriptHandlers(directory, status),
    ...createSwitchHandlers(deps.switches),
    ...createHostHandlers(status, deps.settings),
    ...createSearchHandlers(deps.search),
    ...createBoxStoreHandlers(deps.boxStore),
  };
}
