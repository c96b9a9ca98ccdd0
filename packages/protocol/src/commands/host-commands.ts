/** Commands about the host itself. */
import Type from "typebox";
import { built } from "./command-row.ts";
import { emptyRequest } from "./wire-shapes.ts";

/** whether a feature of the contract is there; a host that hasn't built it says no */
const featureFlag = built(emptyRequest, Type.Boolean());

export const hostCommands = {
  isGlobalSearchEnabled: featureFlag,
  isEgressTunnelAvailable: featureFlag,
  isAgentNetworkEnabled: featureFlag,
  listGatewayServices: built(
    emptyRequest,
    Type.Object({
      protocolVersion: Type.Integer(),
      capabilities: Type.Array(Type.String()),
      methods: Type.Array(Type.String()),
    }),
  ),
  getHostStatus: built(
    emptyRequest,
    Type.Object({
      hostVersion: Type.Union([Type.String(), Type.Null()]),
      latestHostVersion: Type.Union([Type.String(), Type.Null()]),
      hostUpdateAvailable: Type.Union([Type.Boolean(), Type.Null()]),
      isBusy: Type.Boolean(),
      capabilities: Type.Array(Type.String()),
    }),
  ),
} as const;
