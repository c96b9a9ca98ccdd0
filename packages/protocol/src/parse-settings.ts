/**
 * Reads stored settings. A key that is missing or of a wrong kind falls back to its default alone, so that one bad
 * value, or a file of a newer version, doesn't take the others away.
 */
import { Check } from "typebox/value";
import { defaultHostSettings, type HostSettings, hostSettingsSchema } from "./commands/settings-commands.ts";

export function parseHostSettings(stored: unknown): HostSettings {
  if (typeof stored !== "object" || stored === null) return defaultHostSettings;
  const found = new Map<string, unknown>(Object.entries(stored));
  const good = Object.entries(hostSettingsSchema.properties).flatMap(([key, schema]) => {
    const value = found.get(key);
    return value !== undefined && Check(schema, value) ? [[key, value] as const] : [];
  });
  return { ...defaultHostSettings, ...Object.fromEntries(good) };
}
