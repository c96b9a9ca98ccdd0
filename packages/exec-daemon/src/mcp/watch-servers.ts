/** WatchServers: the present states, then every change, as long as the caller keeps up. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError, type Clock } from "@sand/protocol";
import { McpListKind, type McpWatchServersResponseSchema } from "@sand/protocol/exec-mcp";
import { limits } from "../limits.ts";
import { mcpLimits } from "./mcp-limits.ts";
import type { ServerChange, ServerSet } from "./server-set.ts";
import { toServerState } from "./to-server-state.ts";

type WatchEvent = MessageInitShape<typeof McpWatchServersResponseSchema>;

export async function* watchServers(
  servers: ServerSet,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const toState = (handle: Parameters<typeof toServerState>[0]): WatchEvent => ({
    change: { case: "state", value: toServerState(handle, clock) },
  });
  let queue: WatchEvent[] = servers.list().map(toState);
  let bell = new AbortController();
  const unwatch = servers.watch((change) => {
    // One more than the limit says that there were more.
    if (queue.length <= mcpLimits.watchQueueMax)
      queue.push(change.kind === "state" ? toState(change.handle) : toEvent(change));
    bell.abort();
  });
  try {
    while (!signal.aborted) {
      if (queue.length > mcpLimits.watchQueueMax)
        throw new BoxError("exec/too-many", "the watcher is too far behind: ask again for the present state");
      const events = queue;
      queue = [];
      bell = new AbortController();
      yield* events;
      if (queue.length > 0) continue;
      await clock.sleep(limits.keepaliveEveryMs, AbortSignal.any([signal, bell.signal]));
      if (queue.length === 0 && !signal.aborted) yield { change: { case: "keepalive", value: {} } };
    }
  } finally {
    unwatch();
  }
}

const listKinds = {
  tools: McpListKind.TOOLS,
  resources: McpListKind.RESOURCES,
  prompts: McpListKind.PROMPTS,
} as const;

function toEvent(change: Exclude<ServerChange, { kind: "state" }>): WatchEvent {
  switch (change.kind) {
    case "list":
      return {
        change: {
          case: "listChanged",
          value: { serverId: change.handle.config.id, kind: listKinds[change.list] },
        },
      };
    case "removed":
      return { change: { case: "removed", value: change.id } };
  }
}
