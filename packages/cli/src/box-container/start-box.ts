/**
 * Starts the box as a container, or starts the one that is there again.
 *
 * Its ports are published on the loopback only. A container of that name which isn't ours is left alone. Credentials
 * are named in the arguments and given in the environment of the `docker` program.
 */
import { ports } from "@sand/protocol";
import { CommandFailure } from "../command-failure.ts";
import type { Secrets } from "../config.ts";
import type { RunDocker } from "./run-docker.ts";

export const boxContainer = "sand-box";
const ownerLabel = "sand.box";
const dataVolume = "sand-box-data";
const workspaceVolume = "sand-box-workspace";
/** settings that mean the same inside the container */
const settingsPassedOn = /^SAND_INFERENCE_(?:PROVIDER|BASE_URL|MODEL)$/u;

export interface StartBoxOptions {
  readonly docker: RunDocker;
  readonly image: string;
  readonly port: number;
  readonly secrets: Secrets;
  readonly environment: Readonly<Record<string, string>>;
}

export type BoxStart = "created" | "started" | "running";

export async function startBox(options: StartBoxOptions): Promise<BoxStart> {
  const { docker } = options;
  const format = `{{index .Config.Labels "${ownerLabel}"}} {{.State.Running}}`;
  const found = await docker(["container", "inspect", "--format", format, boxContainer]);
  if (found.ok) return startAgain(docker, found.stdout);
  const answer = await docker(runArguments(options), secretEnvironment(options.secrets));
  if (!answer.ok) throw new CommandFailure("failed", `docker run failed: ${answer.complaint}`);
  return "created";
}

async function startAgain(docker: RunDocker, state: string): Promise<BoxStart> {
  const [label, running] = state.split(" ");
  if (label !== "1") {
    throw new CommandFailure("conflict", `a container named ${boxContainer} exists and isn't ours`, {
      hint: "rename or remove it",
    });
  }
  if (running === "true") return "running";
  const answer = await docker(["start", boxContainer]);
  if (!answer.ok) throw new CommandFailure("failed", `docker start failed: ${answer.complaint}`);
  return "started";
}

export function runArguments(options: Omit<StartBoxOptions, "docker">): readonly string[] {
  // A folder of this machine is another one in the container; storage elsewhere is the same.
  const hasStore = options.environment.SAND_BOX_STORE?.startsWith("s3:") === true;
  const settings = Object.entries(options.environment).filter(
    ([name]) => settingsPassedOn.test(name) || (hasStore && name.startsWith("SAND_BOX_STORE")),
  );
  return [
    "run",
    "--detach",
    "--name",
    boxContainer,
    "--label",
    `${ownerLabel}=1`,
    "--restart",
    "unless-stopped",
    "--publish",
    `127.0.0.1:${options.port}:${ports.gateway}`,
    "--volume",
    `${dataVolume}:/home/box/sand-data`,
    "--volume",
    `${workspaceVolume}:/workspace`,
    "--env",
    "SAND_GATEWAY_BIND_HOST=0.0.0.0",
    ...settings.flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    ...Object.keys(secretEnvironment(options.secrets)).flatMap((name) => ["--env", name]),
    options.image,
  ];
}

/** The image mints the daemon's token by itself, inside. */
function secretEnvironment(secrets: Secrets): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secrets).filter(([name]) => name !== "SAND_BOX_EXEC_DAEMON_AUTH_TOKEN"),
  );
}

export async function stopBox(docker: RunDocker): Promise<boolean> {
  const answer = await docker(["stop", "--timeout", "15", boxContainer]);
  return answer.ok;
}
