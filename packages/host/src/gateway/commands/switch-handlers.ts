/** Commands that set something on an agent's row. */
import type { CommandHandlers } from "../command-handlers.ts";
import type { AgentSettingsChange, AgentSwitches } from "../host-ports.ts";
import { parseAgentId } from "./agent-ids.ts";

type SwitchHandlers = Pick<
  CommandHandlers,
  "setAgentUnread" | "setAgentNotificationsEnabled" | "setAgentNotifyOnUpdates" | "setAgentHiddenFromSidebar"
>;

export function createSwitchHandlers(switches: AgentSwitches): SwitchHandlers {
  async function change(id: string, settings: AgentSettingsChange): Promise<null> {
    await switches.changeSettings(parseAgentId(id), settings);
    return null;
  }

  return {
    async setAgentUnread({ id, isUnread, atMs }) {
      await switches.setUnread(parseAgentId(id), { isUnread, atMs: atMs ?? null });
      return null;
    },
    setAgentNotificationsEnabled: ({ id, isEnabled }) => change(id, { notificationsEnabled: isEnabled }),
    setAgentNotifyOnUpdates: ({ id, isEnabled }) => change(id, { notifyOnAgentUpdates: isEnabled }),
    setAgentHiddenFromSidebar: ({ id, isHidden }) => change(id, { hiddenFromSidebar: isHidden }),
  };
}
