/** Ping: proves that the event loop behind the port turns, and how late it is. */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ProcessIdentity } from "@sand/node-kit";
import type { PingRequest, PingResponseSchema } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";

export interface PingDeps {
  readonly ledger: Ledger;
  readonly identity: ProcessIdentity;
  readonly workspaceRoot: string;
}

export interface Ping extends Disposable {
  (request: PingRequest): MessageInitShape<typeof PingResponseSchema>;
}

const resolutionMs = 10;
const nanosecondsPerMs = 1e6;

export function createPing(deps: PingDeps): Ping {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();

  function ping(request: PingRequest): MessageInitShape<typeof PingResponseSchema> {
    // The histogram counts the timer's own period as well.
    const p99Ms = delay.count === 0 ? 0 : Math.max(0, delay.percentile(99) / nanosecondsPerMs - resolutionMs);
    delay.reset();
    return {
      nonce: request.nonce,
      pid: deps.identity.pid,
      bootId: deps.identity.bootId,
      startTime: deps.identity.startTime,
      eventLoopDelayP99Ms: p99Ms,
      openFds: readdirSync("/proc/self/fd").length,
      running: deps.ledger.runningCount(),
      workspaceRoot: deps.workspaceRoot,
    };
  }

  return Object.assign(ping, { [Symbol.dispose]: () => void delay.disable() });
}
