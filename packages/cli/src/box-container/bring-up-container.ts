/** Brings the box up as a container and waits until its gateway answers. */
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";
import { type Clock, ports } from "@sand/protocol";
import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { containerFileName, type GatewayLocation } from "../gateway/find-gateway.ts";
import { createGatewayClient } from "../gateway/gateway-client.ts";
import { keepToken } from "../local-host/keep-token.ts";
import { reportHost } from "../local-host/report-host.ts";
import type { RunDocker } from "./run-docker.ts";
import { boxContainer, startBox } from "./start-box.ts";

export interface ContainerChoice {
  readonly docker: RunDocker;
  readonly port: number;
  readonly clock: Clock;
}

const readyDeadlineMs = 180_000;
const lookEveryMs = 250;

export async function bringUpContainer(context: CommandContext, choice: ContainerChoice): Promise<ExitName> {
  const { config, dataRoot } = context;
  const token = config.secrets.SAND_GATEWAY_TOKEN ?? keepToken(join(dataRoot, "gateway.token"));
  // A published port can't be "any": others have to find it again after the container was started anew.
  const port = choice.port === 0 ? ports.gateway : choice.port;
  const began = await startBox({
    docker: choice.docker,
    image: config.image,
    port,
    secrets: { ...config.secrets, SAND_GATEWAY_TOKEN: token },
    environment: config.childEnvironment,
  });
  const location: GatewayLocation = { url: `http://127.0.0.1:${port}`, token, source: "container" };
  const health = await awaitHealth(location, choice.clock);
  await writeFileAtomic(
    join(dataRoot, containerFileName),
    `${JSON.stringify({ container: boxContainer, url: location.url, token })}\n`,
  );
  reportHost(context, {
    location,
    health,
    began: began === "running" ? "already-running" : "started",
    box: `container ${boxContainer} from ${config.image}`,
    workspace: "/workspace in the container",
    notes: [],
  });
  return "ok";
}

async function awaitHealth(location: GatewayLocation, clock: Clock) {
  const client = createGatewayClient(location);
  const startedMs = clock.nowMs();
  while (clock.nowMs() - startedMs < readyDeadlineMs) {
    const health = await client.health();
    if (health !== undefined) return health;
    await clock.sleep(lookEveryMs);
  }
  throw new CommandFailure("failed", `the container ${boxContainer} didn't become healthy`, {
    hint: `docker logs ${boxContainer}`,
  });
}
