/**
 * `sand upgrade`: replaces the host that runs by this version, without losing a turn. The new process is started beside
 * the old one, has it stop its turns at a boundary, and goes on with them; commands in the box run on meanwhile.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sand/node-kit";
import { fieldsOf } from "../chat/feed-event.ts";
import type { Command, CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { containerFileName } from "../gateway/find-gateway.ts";
import { createGatewayClient } from "../gateway/gateway-client.ts";
import { findLiveHost } from "../local-host/await-host.ts";
import { bringUpLocally } from "../local-host/bring-up.ts";
import { readRunningSettings } from "../local-host/running-settings.ts";

export const upgradeCommand: Command = {
  name: "upgrade",
  summary: "replace the host that runs by this version, and go on with its turns",
  usage: "upgrade",
  details: [
    "Turns stop at their next boundary and go on in the new host; commands run on in between.",
    "Prompts that are sent meanwhile are kept. The port, the token, the folder and the fence stay",
    "as they are; the model and its key come from this shell, as with sand up.",
  ].join("\n"),
  options: {},
  examples: ["sand upgrade", "sand upgrade --json | jq .pid"],
  words: [0, 0],
  run: upgrade,
};

async function upgrade(context: CommandContext): Promise<ExitName> {
  const { config, dataRoot, terminal } = context;
  const live = await findLiveHost(dataRoot);
  if (live === undefined) throw nothingToReplace(dataRoot);
  const about = fieldsOf(await createGatewayClient(live.location).call("getHostStatus", {}));
  const before = typeof about.hostVersion === "string" ? about.hostVersion : "of unknown version";
  terminal.note(`the host (pid ${live.health.pid}, ${before}) is asked to give way to ${context.version}`);
  const running = readRunningSettings(live.health.pid);
  return bringUpLocally(context, {
    port: Number(new URL(live.location.url).port),
    sandbox: config.sandbox ?? running.sandbox ?? "required",
    ...(config.workspace !== undefined || running.workspace === undefined
      ? {}
      : { workspace: running.workspace }),
    why: "as before",
    clock: systemClock,
    replaces: live,
  });
}

function nothingToReplace(dataRoot: string): CommandFailure {
  if (existsSync(join(dataRoot, containerFileName)))
    return new CommandFailure("failed", "the box is a container, which is replaced as a whole", {
      hint: "sand down, then sand up with the new image",
    });
  return new CommandFailure("notRunning", "no host runs that could be replaced", { hint: "sand up" });
}
