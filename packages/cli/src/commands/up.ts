/**
 * `sand up`: starts the box, as a container where an engine and our image are, else as processes of this machine, and
 * says which and why. It is safe to repeat: a host that runs already is reported, not started twice.
 */
import { mkdirSync } from "node:fs";
import { systemClock } from "@sand/node-kit";
import { bringUpContainer } from "../box-container/bring-up-container.ts";
import { describeBox, probeBox } from "../box-container/probe-box.ts";
import { createRunDocker } from "../box-container/run-docker.ts";
import { fieldsOf } from "../chat/feed-event.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { createGatewayClient } from "../gateway/gateway-client.ts";
import { findLiveHost, type LiveHost } from "../local-host/await-host.ts";
import { bringUpLocally, runInForeground } from "../local-host/bring-up.ts";
import { refuseBlockedPort } from "../local-host/refuse-blocked-port.ts";
import { reportHost } from "../local-host/report-host.ts";

export const upCommand: Command = {
  name: "up",
  summary: "start a host here and leave it running",
  usage: "up [options]",
  details: [
    "With a Docker engine and our image the box is a container; otherwise the host and its",
    "execution daemon run as processes of this machine, and commands are fenced in by bubblewrap.",
    "Credentials reach the host through a pipe, never by its environment or arguments.",
  ].join("\n"),
  options: {
    port: {
      type: "string",
      value: "<port>",
      about: "the gateway's port, 0 for any free one (SAND_HOST_PORT, else 1340)",
    },
    local: { type: "boolean", about: "local processes, even where the container would be possible" },
    "no-sandbox": { type: "boolean", about: "let commands run without a fence, with your own rights" },
    foreground: { type: "boolean", about: "stay attached: logs here, Ctrl-C stops the host" },
  },
  examples: [
    "sand up",
    "sand up --port 0 --data-root /tmp/sand",
    "SAND_INFERENCE_MODEL=… OPENROUTER_API_KEY=… sand up",
  ],
  words: [0, 0],
  run: up,
};

async function up(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal, dataRoot, config } = context;
  const port = readPort(input.text("port")) ?? config.port;
  mkdirSync(dataRoot, { recursive: true, mode: 0o700 });
  const live = await findLiveHost(dataRoot);
  if (live !== undefined) {
    const notes = await noteOfVersion(context, live);
    reportHost(context, { ...live, began: "already-running", box: "local processes", notes });
    return "ok";
  }
  const choice = { port, sandbox: chooseSandbox(context, input) };
  await refuseBlockedPort(port);
  if (input.flag("foreground")) return runInForeground(context, choice);
  const docker = createRunDocker(config.childEnvironment);
  const probe = input.flag("local") ? undefined : await probeBox(docker, config.image);
  if (probe?.kind === "ready") {
    terminal.note(`${describeBox(probe, config.image)}: the box is a container`);
    return bringUpContainer(context, { docker, port, clock: systemClock });
  }
  const why = probe === undefined ? "asked for with --local" : describeBox(probe, config.image);
  return bringUpLocally(context, { ...choice, why, clock: systemClock });
}

async function noteOfVersion({ version }: CommandContext, { location }: LiveHost): Promise<string[]> {
  // A host that doesn't say what it is is up all the same.
  const about = await createGatewayClient(location)
    .call("getHostStatus", {})
    .catch(() => undefined);
  const { hostVersion } = fieldsOf(about);
  if (typeof hostVersion !== "string" || hostVersion === version) return [];
  return [`it is version ${hostVersion}, and this is ${version}: sand upgrade replaces it`];
}

function chooseSandbox({ config }: CommandContext, input: CommandInput): string {
  return input.flag("no-sandbox") ? "off" : (config.sandbox ?? "required");
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d{1,5}$/u.test(text) || port > 65_535) {
    throw new CommandFailure("usage", `--port must be a number from 0 to 65535, not "${text}"`);
  }
  return port;
}
