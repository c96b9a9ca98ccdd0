import { expect, test } from "vitest";
import { defaultHostSettings } from "./commands/settings-commands.ts";
import { parseHostSettings } from "./parse-settings.ts";

test.each([[null], ["text"], [7], [[]], [{}]])("%j gives the defaults", (stored) => {
  expect(parseHostSettings(stored)).toEqual(defaultHostSettings);
});

test("a value of a wrong kind falls back alone, and keys that are not known are left out", () => {
  const stored = { localToolPermission: "never", webauthnProxyEnabled: "yes", userTimeZone: null, later: 1 };
  expect(parseHostSettings(stored)).toEqual({ ...defaultHostSettings, localToolPermission: "never" });
});

test("a prototype in the stored settings reaches nobody", () => {
  const settings = parseHostSettings(JSON.parse('{"__proto__":{"userTimeZone":"evil"}}'));
  expect(settings.userTimeZone).toBeUndefined();
});
