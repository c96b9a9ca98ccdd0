/** Commands about the host itself: its status, what it can do, and its settings. */
import { builtCommands } from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type { HostSettingsDesk, HostStatus } from "../host-ports.ts";

type HostHandlers = Pick<
  CommandHandlers,
  | "getHostStatus"
  | "listGatewayServices"
  | "isEgressTunnelAvailable"
  | "isAgentNetworkEnabled"
  | "getHostSettings"
  | "setHostSettings"
>;

/** what clients may rely on beyond the oldest hosts */
const capabilities = ["sendAcceptanceV1"];
/** rises when a built command changes its meaning */
const protocolVersion = 1;

export function createHostHandlers(status: HostStatus, settings: HostSettingsDesk): HostHandlers {
  // Neither of these features is built, so a client shows them as absent.
  const absent = async (): Promise<boolean> => false;
  return {
    getHostStatus: async () => ({
      hostVersion: status.version,
      // Nobody asks a server for newer versions, so none is known.
      latestHostVersion: null,
      hostUpdateAvailable: null,
      isBusy: status.isBusy(),
      storeRepairs: [...status.storeRepairs()],
      capabilities: [...capabilities],
    }),
    listGatewayServices: async () => ({
      protocolVersion,
      capabilities: [...capabilities],
      methods: Object.keys(builtCommands).sort(),
    }),
    isEgressTunnelAvailable: absent,
    isAgentNetworkEnabled: absent,
    getHostSettings: async () => settings.read(),
    setHostSettings: (patch) => settings.change(patch),
  };
}
