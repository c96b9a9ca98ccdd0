/** Carries a connection over a process of ours. */
import { randomUUID } from "node:crypto";
import { BoxError, type Clock } from "@sand/protocol";
import type { BoxPolicy } from "../box-policy.ts";
import { encloserOf } from "../enclosure/encloser.ts";
import type { LogRing } from "./log-ring.ts";
import type { Carrier } from "./mcp-connection.ts";
import { planServer } from "./plan-server.ts";
import { loadMessageParser } from "./sdk.ts";
import type { StdioConfig } from "./server-config.ts";
import type { ServerTraces } from "./server-traces.ts";
import { spawnServer } from "./spawn-server.ts";
import { createStdioTransport } from "./stdio-transport.ts";

export interface OpenStdioDeps {
  readonly policy: BoxPolicy;
  readonly clock: Clock;
  readonly traces: ServerTraces;
  readonly onLeftBehind: (pids: readonly number[]) => void;
}

export interface OpenStdio {
  readonly id: string;
  readonly config: StdioConfig;
  /** the configuration's variables and its secrets */
  readonly env: Readonly<Record<string, string>>;
  readonly logRing: LogRing;
}

/** the beginning of the marker of every process that belongs to an MCP server; the server's id follows */
export const mcpMarkerPrefix = "mcp:";

export async function openStdio(
  deps: OpenStdioDeps,
  { id, config, env, logRing }: OpenStdio,
): Promise<Carrier> {
  const marker = `${mcpMarkerPrefix}${id}:${randomUUID()}`;
  const parseMessage = await loadMessageParser();
  const launch = planServer(deps.policy, config, marker);
  const { clock } = deps;
  const server = await spawnServer({ clock, launch, marker, env, note: deps.traces.note });
  const ended = Promise.withResolvers<BoxError>();
  /** What its enclosure needed in the workspace goes with the last of its processes. */
  const end = () => server.end().finally(() => encloserOf(deps.policy).mountPoints.release(marker));
  const transport = createStdioTransport({
    server,
    logRing,
    parseMessage,
    onEnd: (reason) => {
      ended.resolve(reason);
      // A server whose connection is over is of no use, and neither is what it left.
      void end();
    },
  });
  return {
    transport,
    pid: server.pid,
    sandboxed: server.sandboxed,
    ended: ended.promise,
    async end() {
      ended.resolve(new BoxError("mcp/unavailable", "the server was closed"));
      const left = await end();
      if (left.length > 0) deps.onLeftBehind(left);
    },
    // Its process says when it is over.
    isFatal: () => false,
  };
}
