/** Wires the queue of turns: the model, the tools, and the scope in which runs go on. A part of the host's start. */
import { createModel } from "@sand/inference";
import { createScope, type Logger, type Scope } from "@sand/node-kit";
import type { AgentId, Clock, HostEvent, IdSource } from "@sand/protocol";
import type { OpenAgents } from "./agents/open-agents.ts";
import type { BoxKeeper, BoxPort } from "./box/box-port.ts";
import type { HostConfig } from "./config.ts";
import { createTools } from "./tools/create-tools.ts";
import { createRunAgent } from "./turns/run-agent.ts";
import { createTurnQueue, type TurnQueue } from "./turns/turn-queue.ts";

interface QueueDeps {
  readonly config: HostConfig;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
}

interface QueueParts {
  readonly open: OpenAgents;
  readonly box: BoxKeeper;
  publish(events: readonly HostEvent[]): void;
  onSettled(agentId: AgentId): void;
}

export function startQueue(
  { config, clock, ids, logger }: QueueDeps,
  host: Scope,
  { open, box, publish, onSettled }: QueueParts,
) {
  const turns = createScope("turns", (error, task) =>
    logger.error({ event: "turn.failed", task, err: error }, "a turn stopped on an error"),
  );
  host.defer(() => turns.close());
  const model = createModel(config.model, { clock });
  const services = {
    model,
    toolsFor: (found: BoxPort) => createTools({ box: found, clock }),
    box,
    clock,
    ids,
    logger,
    workspaceRoot: config.workspaceRoot,
    windowTokensMax: config.windowTokensMax,
    publish,
    onSettled,
  };
  let lastBusyAtMs: number | null = null;
  const queue: TurnQueue = createTurnQueue({
    scope: turns,
    run: createRunAgent({ open, services, bootId: ids.next() }),
    onBusyChange() {
      lastBusyAtMs = clock.nowMs();
    },
    onRetry(agentId, error, failures) {
      logger.warn({ event: "turn.waits", agentId, code: error.code, failures }, error.message);
    },
    clock,
  });
  return { queue, busyHistory: () => ({ lastBusyAtMs }) };
}
