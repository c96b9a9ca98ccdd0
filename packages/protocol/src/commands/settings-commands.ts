/**
 * Commands about the host's settings: one object, read whole and changed by a patch (contract gateway §3.5).
 *
 * A patch replaces each key that it names; of `notifications` it replaces the fields that it names. `null` takes an
 * optional key away. A key that isn't known is ignored.
 */
import Type, { type Static } from "typebox";
import type { JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { built } from "./command-row.ts";
import { emptyRequest } from "./wire-shapes.ts";

const line = Type.String({ maxLength: limits.agentNameMaxLength });
const instructions = Type.String({ maxLength: limits.agentDescriptionMaxLength });
const names = Type.Array(line, { maxItems: limits.settingsListMaxItems });
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** kept for clients as they sent it; the host doesn't look into it */
const opaque = Type.Unsafe<JsonValue>(Type.Unknown());

const modelChoice = Type.Object({
  modelId: line,
  maxMode: Type.Optional(Type.Boolean()),
  parameters: Type.Array(Type.Object({ id: line, value: opaque }), { maxItems: limits.settingsListMaxItems }),
});

const notificationFields = {
  isEnabled: Type.Boolean(),
  allowedApps: names,
  minIntervalMs: count,
  maxPerWindow: count,
  windowMs: count,
};

const plainFields = {
  mcpCustomInstructions: instructions,
  mcpCustomInstructionsByServerId: Type.Record(Type.String(), instructions),
  mcpDisabledToolsByServerId: Type.Record(Type.String(), names),
  mcpBoxServers: opaque,
  autoReviewInstructions: instructions,
  localToolPermission: line,
  webauthnProxyEnabled: Type.Boolean(),
  sidebarSections: Type.Array(opaque, { maxItems: limits.settingsListMaxItems }),
};

const optionalFields = {
  userTimeZone: line,
  userTimeZoneOverride: line,
  agentDefaultModel: modelChoice,
  computerUseModel: modelChoice,
  pinnedAgentIds: names,
  hasSeenOnboarding: Type.Boolean(),
};

const hostSettings = Type.Object({
  notifications: Type.Object(notificationFields),
  ...plainFields,
  ...Type.Partial(Type.Object(optionalFields)).properties,
});
export type HostSettings = Static<typeof hostSettings>;

const settingsPatch = Type.Object({
  notifications: Type.Optional(Type.Partial(Type.Object(notificationFields))),
  ...Type.Partial(Type.Object(plainFields)).properties,
  userTimeZone: clearable(optionalFields.userTimeZone),
  userTimeZoneOverride: clearable(optionalFields.userTimeZoneOverride),
  agentDefaultModel: clearable(optionalFields.agentDefaultModel),
  computerUseModel: clearable(optionalFields.computerUseModel),
  pinnedAgentIds: clearable(optionalFields.pinnedAgentIds),
  hasSeenOnboarding: clearable(optionalFields.hasSeenOnboarding),
});
export type HostSettingsPatch = Static<typeof settingsPatch>;

function clearable<Schema extends Type.TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** what holds until somebody changes it */
export const defaultHostSettings: HostSettings = {
  notifications: {
    isEnabled: true,
    allowedApps: [],
    minIntervalMs: 60_000,
    maxPerWindow: 10,
    windowMs: 3_600_000,
  },
  mcpCustomInstructions: "",
  mcpCustomInstructionsByServerId: {},
  mcpDisabledToolsByServerId: {},
  mcpBoxServers: {},
  autoReviewInstructions: "",
  localToolPermission: "ask",
  webauthnProxyEnabled: false,
  sidebarSections: [],
};

export const hostSettingsSchema = hostSettings;

export const settingsCommands = {
  getHostSettings: built(emptyRequest, hostSettings),
  setHostSettings: built(settingsPatch, hostSettings),
} as const;
