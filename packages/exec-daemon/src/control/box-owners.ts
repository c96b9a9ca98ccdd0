/** Who of ours is known by which process: executions by their leader and keeper, MCP servers, and the daemon itself. */
import type { Ledger } from "../ledger/ledger.ts";
import { isRunning } from "../ledger/tracked-execution.ts";
import type { ServerSet } from "../mcp/server-set.ts";
import { assignOwners, type Owner, type ProcessRow, readProcessTable } from "./process-table.ts";

export interface OwnedProcesses {
  readonly rows: readonly ProcessRow[];
  readonly owners: ReadonlyMap<number, Owner>;
}

export type BoxOwners = () => OwnedProcesses;

export function createBoxOwners(deps: { readonly ledger: Ledger; readonly servers: ServerSet }): BoxOwners {
  return () => {
    const rows = readProcessTable();
    const seeds = new Map<number, Owner>([[process.pid, { daemon: true }]]);
    for (const execution of deps.ledger.list()) {
      const { claim, started, start, closed } = execution;
      // One that has ended may have left something behind that is still in its session.
      if (!isRunning(execution) && closed?.leftOpen !== true) continue;
      const { agentId } = start.lineage;
      if (claim !== undefined) seeds.set(claim.pid, { daemon: true });
      if (started !== undefined)
        seeds.set(started.pid, { processId: start.executionId, ...(agentId === "" ? {} : { agentId }) });
    }
    for (const { config, state } of deps.servers.list())
      if (state.status === "ready" && state.connection.pid !== 0)
        seeds.set(state.connection.pid, { mcpServerId: config.id });
    return { rows, owners: assignOwners(rows, seeds) };
  };
}
