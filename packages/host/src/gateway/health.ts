/** `GET /health`: a client compares `pid` and `startedAt` with the discovery file. */
import type { AgentId } from "@sand/protocol";
import type { HostStatus } from "./host-ports.ts";

export interface Health {
  readonly ok: true;
  readonly pid: number;
  readonly isBusy: boolean;
  readonly activeAgentId: AgentId | null;
  readonly startedAt: number;
  readonly lastBusyAtMs: number | null;
  readonly busyOnlyAwaitingApproval: boolean;
}

export function readHealth(status: HostStatus, pid: number): Health {
  return {
    ok: true,
    pid,
    isBusy: status.isBusy(),
    activeAgentId: status.activeAgentId(),
    startedAt: status.startedAt,
    lastBusyAtMs: status.lastBusyAtMs(),
    busyOnlyAwaitingApproval: status.busyOnlyAwaitingApproval(),
  };
}
