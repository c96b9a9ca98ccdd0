/** Commands about which agents exist and who they are. */
import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { built } from "./command-row.ts";
import {
  agentIdField,
  agentSummary,
  emptyRequest,
  nonceField,
  transcriptEntry,
  voidAnswer,
} from "./wire-shapes.ts";

/** Shapes and colours that clients can draw; they check them, so another value would break a roster. */
export const avatarShapes = [
  "blob",
  "pebble",
  "bean",
  "egg",
  "squircle",
  "tablet",
  "capsule",
  "cylinder",
  "hex",
  "gem",
  "crystal",
  "wedge",
  "shield",
  "dome",
  "arch",
  "cloud",
  "teardrop",
  "leaf",
] as const;
export const avatarColors = [
  "black",
  "brown",
  "red",
  "orange",
  "yellow",
  "green",
  "cyan",
  "blue",
  "violet",
  "magenta",
  "gray",
] as const;

const name = Type.String({ minLength: 1, maxLength: limits.agentNameMaxLength });
const description = Type.String({ maxLength: limits.agentDescriptionMaxLength });
const title = Type.String({ maxLength: limits.agentNameMaxLength });
const avatarShape = Type.Union([Type.Enum([...avatarShapes]), Type.Null()]);
const avatarColor = Type.Union([Type.Enum([...avatarColors]), Type.Null()]);

export const createAgentRequest = Type.Object({
  name,
  description,
  title: Type.Optional(title),
  avatarShape: Type.Optional(avatarShape),
  avatarColor: Type.Optional(avatarColor),
  origin: Type.Optional(Type.Enum(["user", "dev"])),
  clientNonce: Type.Optional(nonceField),
  isIntroductionSuppressed: Type.Optional(Type.Boolean()),
  isKickstartRequested: Type.Optional(Type.Boolean()),
  purpose: Type.Optional(Type.Enum(["disk-saver", "plugin-auth"])),
  templateId: Type.Optional(Type.String({ pattern: "^[a-z0-9-]{1,64}$" })),
  supportsTemporalHarness: Type.Optional(Type.Boolean()),
});
export type CreateAgentRequest = Static<typeof createAgentRequest>;

/** a field that is absent stays as it is */
export const profileChange = Type.Object({
  name,
  description,
  title: Type.Optional(title),
  avatarShape: Type.Optional(avatarShape),
  avatarColor: Type.Optional(avatarColor),
});
export type ProfileChange = Static<typeof profileChange>;

const activeTranscript = Type.Object({ transcript: Type.Array(transcriptEntry) });

export const rosterCommands = {
  listAgents: built(emptyRequest, Type.Array(agentSummary)),
  countAgents: built(emptyRequest, Type.Integer()),
  createAgent: built(
    createAgentRequest,
    Type.Object({ agent: agentSummary, transcript: Type.Optional(Type.Array(transcriptEntry)) }),
  ),
  updateAgent: built(
    Type.Object({ id: agentIdField, profile: profileChange }),
    Type.Union([agentSummary, Type.Null()]),
  ),
  deleteAgent: built(Type.Object({ id: agentIdField }), activeTranscript),
  deleteAgents: built(
    Type.Object({ ids: Type.Array(agentIdField, { maxItems: limits.deleteAgentsMaxIds }) }),
    activeTranscript,
  ),
  setAgentUnread: built(
    Type.Object({
      id: agentIdField,
      isUnread: Type.Boolean(),
      /** when the user looked; now when absent */
      atMs: Type.Optional(Type.Number({ minimum: 0 })),
    }),
    voidAnswer,
  ),
  setAgentNotificationsEnabled: built(
    Type.Object({ id: agentIdField, isEnabled: Type.Boolean() }),
    voidAnswer,
  ),
  setAgentNotifyOnUpdates: built(Type.Object({ id: agentIdField, isEnabled: Type.Boolean() }), voidAnswer),
  setAgentHiddenFromSidebar: built(Type.Object({ id: agentIdField, isHidden: Type.Boolean() }), voidAnswer),
  interruptAgentRun: built(Type.Object({ id: agentIdField }), Type.Object({ hadActiveRun: Type.Boolean() })),
} as const;
