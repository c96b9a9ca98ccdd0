/** What an enclosure needs beside its runs: the proxies' sockets, and somebody who clears up after runs that were lost. */
import { type Logger, type Scope, systemClock } from "@sand/node-kit";
import type { BoxPolicy } from "../box-policy.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { startEgress } from "../network/start-egress.ts";
import { encloserOf } from "./encloser.ts";

export interface EnclosureDeps {
  readonly policy: BoxPolicy;
  readonly ledger: Ledger;
  readonly scope: Scope;
  readonly log: Logger;
}

const sweepEveryMs = 1000;

export async function openEnclosure({ policy, ledger, scope, log }: EnclosureDeps): Promise<void> {
  for (const warning of policy.warnings) log.warn({ event: "policy.left-out" }, warning);
  const { mountPoints } = encloserOf(policy);
  const { decision } = policy;
  // What an earlier daemon started and the ledger doesn't know died with it.
  const running = ledger.list().filter((one) => one.claim !== undefined && one.exit === undefined);
  mountPoints.adopt(running.map(({ start }) => start.executionId));
  scope.defer(() => mountPoints.close());
  const egress = await startEgress(policy, log);
  scope.defer(() => egress.close());
  scope.run("remove mount points", async (signal) => {
    while (!signal.aborted && decision.kind === "enclose") {
      await systemClock.sleep(sweepEveryMs, signal);
      // Terminals and MCP servers aren't in the ledger; whoever started them says when they are over.
      mountPoints.sweep((id) => hasEnded(ledger, id));
    }
  });
}

function hasEnded(ledger: Ledger, id: string): boolean {
  return ledger.find(id)?.exit !== undefined;
}
