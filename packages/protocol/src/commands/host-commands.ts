/** Commands about the host itself. */
import Type from "typebox";
import { built } from "./command-row.ts";
import { emptyRequest } from "./wire-shapes.ts";

/** whether a feature of the contract is there; a host that hasn't built it says no */
const featureFlag = built(emptyRequest, Type.Boolean());

/** what became of a damaged store */
const storeRepair = Type.Object({
  agentId: Type.String(),
  /** in `ms` */
  atMs: Type.Integer(),
  /** `behind`: its newest changes are missing, and nothing else showed it */
  outcome: Type.Union([Type.Literal("repaired"), Type.Literal("failed"), Type.Literal("behind")]),
  reason: Type.String(),
  /** where the damaged files and the full report lie, below the agent's folder */
  quarantine: Type.String(),
  keptEntries: Type.Integer(),
  lostEntries: Type.Integer(),
  lostPrompts: Type.Integer(),
  /** more may be lost than can be counted */
  mayHaveLostMore: Type.Boolean(),
  /** open turns that were ended, since it isn't known what they did last */
  settledTurns: Type.Integer(),
});

export type StoreRepair = Type.Static<typeof storeRepair>;

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
      storeRepairs: Type.Array(storeRepair),
      capabilities: Type.Array(Type.String()),
    }),
  ),
} as const;
