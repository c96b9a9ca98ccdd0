/** A server as the protocol shows it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "@sand/protocol";
import { type McpServerStateSchema, McpStatus } from "@sand/protocol/exec-mcp";
import type { ServerAbout } from "./mcp-connection.ts";
import type { ServerHandle, ServerState } from "./server-handle.ts";

export function toServerState(
  handle: ServerHandle,
  clock: Clock,
): MessageInitShape<typeof McpServerStateSchema> {
  const { config, state } = handle;
  const { tellsToolChanges: _, ...about } = handle.about ?? unknownServer;
  const { pid, sandboxed } = state.status === "ready" ? state.connection : noProcess;
  return {
    id: config.id,
    source: config.source,
    status: statuses[state.status],
    problem: problemOf(state),
    retryAfterMs: state.status === "failed" ? Math.max(0, state.retryAtMs - clock.nowMs()) : 0,
    ...{ pid, sandboxed },
    ...about,
    generation: handle.generation,
  };
}

const noProcess = { pid: 0, sandboxed: false } as const;
const unknownServer: ServerAbout = {
  name: "",
  version: "",
  instructions: "",
  hasTools: false,
  hasResources: false,
  hasPrompts: false,
  tellsToolChanges: false,
};

const statuses = {
  idle: McpStatus.IDLE,
  starting: McpStatus.STARTING,
  ready: McpStatus.READY,
  failed: McpStatus.FAILED,
  closing: McpStatus.CLOSING,
  "login-needed": McpStatus.LOGIN_NEEDED,
} as const satisfies Record<ServerState["status"], McpStatus>;

function problemOf(state: ServerState): string {
  switch (state.status) {
    case "idle":
      return state.problem;
    case "failed":
    case "login-needed":
      return state.error.message;
    case "starting":
    case "ready":
    case "closing":
      return "";
  }
}
