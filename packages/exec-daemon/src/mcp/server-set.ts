/**
 * All configured servers, by id, each with the source that brought it. A load replaces one source's servers: what is
 * unchanged goes on running, what is another one now or gone is closed.
 */
import { BoxError } from "@sand/protocol";
import { mcpLimits } from "./mcp-limits.ts";
import type { ListKind } from "./sdk.ts";
import { isSameServer, type ServerConfig } from "./server-config.ts";
import { createServerHandle, type ServerHandle, type ServerHandleDeps } from "./server-handle.ts";

export type ServerChange =
  | { readonly kind: "state"; readonly handle: ServerHandle }
  | { readonly kind: "list"; readonly handle: ServerHandle; readonly list: ListKind }
  | { readonly kind: "removed"; readonly id: string };

export interface ServerSet {
  list(): readonly ServerHandle[];
  /** Throws `mcp/unknown-server`. */
  find(id: string): ServerHandle;
  /** Throws when an id belongs to another source, or there would be too many; then nothing is changed. */
  load(source: string, servers: readonly ServerConfig[]): void;
  /** Calls back for every change until what comes back is called. */
  watch(onChange: (change: ServerChange) => void): () => void;
  /** Ends all of them. */
  close(): Promise<void>;
}

export interface ServerSetDeps extends Omit<ServerHandleDeps, "onChange" | "onListChanged"> {
  /** Runs what outlives the call. */
  readonly run: (name: string, work: () => Promise<void>) => void;
}

export function createServerSet(deps: ServerSetDeps): ServerSet {
  const handles = new Map<string, ServerHandle>();
  /** replaced or removed, and not gone yet */
  const leaving = new Set<ServerHandle>();
  const watchers = new Set<(change: ServerChange) => void>();

  function tell(change: ServerChange): void {
    for (const watcher of watchers) watcher(change);
  }

  function make(config: ServerConfig): ServerHandle {
    const isCurrent = (handle: ServerHandle): boolean => handles.get(config.id) === handle;
    return createServerHandle(config, {
      ...deps,
      onChange: (handle) => {
        if (isCurrent(handle)) tell({ kind: "state", handle });
      },
      onListChanged: (handle, list) => {
        if (isCurrent(handle)) tell({ kind: "list", handle, list });
      },
    });
  }

  function retire(handle: ServerHandle): void {
    leaving.add(handle);
    deps.run("end an MCP server", async () => {
      await handle.close();
      leaving.delete(handle);
    });
  }

  function refuseClashes(source: string, servers: readonly ServerConfig[]): void {
    const others = [...handles.values()].filter(({ config }) => config.source !== source);
    if (others.length + servers.length > mcpLimits.serversMax)
      throw new BoxError("exec/too-many", `there can be ${mcpLimits.serversMax} MCP servers`);
    const ids = new Set(others.map(({ config }) => config.id));
    for (const { id } of servers) {
      if (ids.has(id)) throw new BoxError("exec/invalid", `there is another MCP server with the id ${id}`);
      ids.add(id);
    }
  }

  return {
    list: () => [...handles.values()],
    find(id) {
      const handle = handles.get(id);
      if (handle === undefined)
        throw new BoxError(
          "mcp/unknown-server",
          `there is no MCP server ${JSON.stringify(id.slice(0, 80))}`,
          {
            hint: "ListServers names the ones that are configured",
          },
        );
      return handle;
    },
    load(source, servers) {
      refuseClashes(source, servers);
      const wanted = new Map(servers.map((config) => [config.id, config]));
      for (const handle of [...handles.values()].filter(({ config }) => config.source === source)) {
        const { id } = handle.config;
        const next = wanted.get(id);
        if (next !== undefined && isSameServer(next, handle.config)) {
          wanted.delete(id);
          continue;
        }
        handles.delete(id);
        retire(handle);
        if (next === undefined) tell({ kind: "removed", id });
      }
      for (const config of wanted.values()) {
        const handle = make(config);
        handles.set(config.id, handle);
        tell({ kind: "state", handle });
      }
    },
    watch(onChange) {
      if (watchers.size >= mcpLimits.watchersMax)
        throw new BoxError("exec/too-many", `${mcpLimits.watchersMax} watch the MCP servers already`);
      watchers.add(onChange);
      return () => void watchers.delete(onChange);
    },
    async close() {
      await Promise.all([...handles.values(), ...leaving].map((handle) => handle.close()));
    },
  };
}
