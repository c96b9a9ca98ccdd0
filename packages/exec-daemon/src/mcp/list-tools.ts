/**
 * ListTools: asks all servers at once, and one that fails or hangs has that in its own row and delays no other's
 * beyond the wait that the caller chose.
 *
 * A list is kept as long as its server says when it changes; of a server that doesn't say so it is read each time.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type {
  McpListToolsRequest,
  McpListToolsResponseSchema,
  McpServerToolsSchema,
  McpToolSchema,
} from "@sand/protocol/exec-mcp";
import { type Listed, listPages } from "./list-pages.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { toMcpError } from "./mcp-errors.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { type Fields, jsonOf, textOf } from "./read-fields.ts";
import type { ServerHandle } from "./server-handle.ts";
import type { ServerSet } from "./server-set.ts";

type ServerTools = MessageInitShape<typeof McpServerToolsSchema>;

export type ListTools = (
  request: McpListToolsRequest,
  signal: AbortSignal,
) => Promise<MessageInitShape<typeof McpListToolsResponseSchema>>;

export function createListTools(servers: ServerSet): ListTools {
  const kept = new WeakMap<McpConnection, Promise<Listed>>();
  servers.watch((change) => {
    if (change.kind !== "list" || change.list !== "tools") return;
    const { state } = change.handle;
    if (state.status === "ready") kept.delete(state.connection);
  });

  function read(connection: McpConnection, maxMs: number): Promise<Listed> {
    // Not with the caller's signal: others may be waiting for the same list.
    const reading = listPages(connection, { method: "tools/list", field: "tools", maxMs });
    if (connection.about.tellsToolChanges) {
      kept.set(connection, reading);
      reading.catch(() => {
        if (kept.get(connection) === reading) kept.delete(connection);
      });
    }
    return reading;
  }

  async function listOne(handle: ServerHandle, waitMs: number, signal: AbortSignal): Promise<ServerTools> {
    const serverId = handle.config.id;
    const done = handle.touch();
    try {
      const connection = await handle.use(waitMs, signal);
      if (!connection.about.hasTools) return { serverId };
      const { rows, truncated } = await (kept.get(connection) ??
        read(connection, Math.min(waitMs, handle.config.callMaxMs)));
      return { serverId, tools: rows.flatMap(toTool), truncated };
    } catch (error) {
      signal.throwIfAborted();
      const known = toMcpError(error);
      return { serverId, failureCode: known.code, problem: known.message };
    } finally {
      done();
    }
  }

  return async (request, signal) => {
    if (request.serverIds.length > mcpLimits.serversMax)
      throw new BoxError("exec/invalid", "too many servers are named");
    const asked =
      request.serverIds.length === 0
        ? servers.list()
        : [...new Set(request.serverIds)].map((id) => servers.find(id));
    const rows = asked.map((handle) => {
      const ownMs = handle.config.startMaxMs + handle.config.callMaxMs;
      return listOne(handle, request.waitMs === 0 ? ownMs : Math.min(request.waitMs, ownMs), signal);
    });
    return { servers: await Promise.all(rows) };
  };
}

/** A row without a name can't be called, so it is left out; the others are no worse for it. */
function toTool(row: Fields): readonly MessageInitShape<typeof McpToolSchema>[] {
  const name = textOf(row.name);
  if (name === "" || name.length > mcpLimits.namesMaxChars) return [];
  return [
    {
      name,
      title: textOf(row.title),
      description: textOf(row.description),
      inputSchemaJson: jsonOf(row.inputSchema),
      outputSchemaJson: jsonOf(row.outputSchema),
      annotationsJson: jsonOf(row.annotations),
    },
  ];
}
