/**
 * The host's settings: `<data root>/host-settings.json`, written whole and atomically.
 *
 * A change is on disk before it is published, and published before it is answered (INV-2). Changes come one after
 * another: two patches of different keys both hold.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HostIndex } from "@sand/agent-core";
import { createKeyedMutex, type Logger, writeFileAtomic } from "@sand/node-kit";
import {
  BoxError,
  type HostSettings,
  type HostSettingsPatch,
  limits,
  parseHostSettings,
} from "@sand/protocol";
import { asJson } from "./agents/agent-handle.ts";
import type { HostSettingsDesk } from "./gateway/host-ports.ts";

export interface HostSettingsDeps {
  readonly dataRoot: string;
  readonly index: HostIndex;
  readonly logger: Logger;
}

const fileName = "host-settings.json";

export function openHostSettings(deps: HostSettingsDeps): HostSettingsDesk {
  const path = join(deps.dataRoot, fileName);
  const exclusive = createKeyedMutex();
  let settings = readStored(path, deps.logger);

  async function change(patch: HostSettingsPatch): Promise<HostSettings> {
    const changed = applyPatch(settings, patch);
    const text = JSON.stringify(changed, null, 2);
    if (Buffer.byteLength(text, "utf8") > limits.settingsMaxBytes)
      throw new BoxError("gateway/body-too-large", `settings have at most ${limits.settingsMaxBytes} bytes`);
    await writeFileAtomic(path, `${text}\n`, { mode: 0o600 });
    settings = changed;
    await deps.index.commitHostEvent("host-settings", asJson(changed));
    return changed;
  }

  return {
    read: () => settings,
    change: (patch) => exclusive(fileName, () => change(patch)),
  };
}

/** A key that a patch sets to null fails the parse, and so is absent or its default again. */
function applyPatch(before: HostSettings, patch: HostSettingsPatch): HostSettings {
  const notifications = { ...before.notifications, ...patch.notifications };
  return parseHostSettings({ ...before, ...patch, notifications });
}

function readStored(path: string, logger: Logger): HostSettings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // Nobody has changed a setting yet.
    return parseHostSettings({});
  }
  try {
    return parseHostSettings(JSON.parse(text));
  } catch (error) {
    logger.warn(
      { event: "settings.unreadable", file: path, err: error },
      "the settings start from their defaults",
    );
    return parseHostSettings({});
  }
}
