/** Opens the index and the hub, which starts at the newest `seq` of earlier runs: only the opened index knows it. */
import type { Logger } from "@sand/node-kit";
import type { Clock, HostEvent } from "@sand/protocol";
import { type OpenedHostIndex, openHostIndex } from "@sand/store";
import { createEventHub, type EventHub } from "./event-hub.ts";

export interface IndexWithHubDeps {
  readonly config: { readonly dataRoot: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

export function openIndexWithHub({ config, clock, logger }: IndexWithHubDeps): {
  readonly index: OpenedHostIndex;
  readonly hub: EventHub;
} {
  const early: HostEvent[] = [];
  let publish: (events: readonly HostEvent[]) => void = (events) => early.push(...events);
  const index = openHostIndex({
    root: config.dataRoot,
    onCommitted: (events) => publish(events),
    clock,
    logger,
  });
  const hub = createEventHub({ lastSeq: index.lastSeq() });
  publish = (events) => hub.publish(events);
  return { index, hub };
}
