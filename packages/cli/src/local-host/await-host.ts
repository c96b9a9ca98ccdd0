/** Waits until a host that was just started answers under its own pid, or has ended, or time is up. */
import type { Clock } from "@sand/protocol";
import { type GatewayLocation, readDiscovery } from "../gateway/find-gateway.ts";
import { createGatewayClient, type Health } from "../gateway/gateway-client.ts";

export type HostStart =
  | { readonly kind: "ready"; readonly location: GatewayLocation; readonly health: Health }
  | { readonly kind: "ended" }
  | { readonly kind: "late" };

export interface AwaitHostOptions {
  readonly dataRoot: string;
  readonly pid: number;
  readonly hasEnded: () => boolean;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** called with the time that has passed, now and then */
  readonly onWait: (waitedMs: number) => void;
}

const lookEveryMs = 50;
const reportEveryMs = 3_000;

export async function awaitHost(options: AwaitHostOptions): Promise<HostStart> {
  const { clock, dataRoot, pid } = options;
  const startedMs = clock.nowMs();
  let reportedMs = startedMs;
  while (clock.nowMs() - startedMs < options.deadlineMs) {
    const location = readDiscovery(dataRoot);
    if (location?.pid === pid) {
      const health = await createGatewayClient(location).health();
      if (health?.pid === pid) return { kind: "ready", location, health };
    }
    if (options.hasEnded()) return { kind: "ended" };
    if (clock.nowMs() - reportedMs >= reportEveryMs) {
      reportedMs = clock.nowMs();
      options.onWait(reportedMs - startedMs);
    }
    await clock.sleep(lookEveryMs);
  }
  return { kind: "late" };
}

export interface LiveHost {
  readonly location: GatewayLocation;
  readonly health: Health;
}

/** The host that runs under `dataRoot`, if its health and its discovery file agree. */
export async function findLiveHost(dataRoot: string): Promise<LiveHost | undefined> {
  const location = readDiscovery(dataRoot);
  if (location === undefined) return undefined;
  const health = await createGatewayClient(location).health();
  if (health === undefined || health.pid !== location.pid) return undefined;
  if (location.startedAt !== undefined && health.startedAt !== location.startedAt) return undefined;
  return { location, health };
}
