/**
 * The SDK, loaded when the first server is used: it costs the daemon more memory and time than all the rest of it, and
 * most boxes have no MCP server.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { Fetch } from "./bounded-fetch.ts";
import { mcpLimits } from "./mcp-limits.ts";

export interface McpClientEvents {
  readonly onListChanged: (kind: ListKind) => void;
}

export type ListKind = "tools" | "resources" | "prompts";

/** Makes a client that isn't connected yet. */
export async function createMcpClient(events: McpClientEvents): Promise<Client> {
  const [{ Client }, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  const client = new Client({ name: "sand", version: "0.1.0" }, { jsonSchemaValidator: acceptEverything });
  const { onListChanged } = events;
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => onListChanged("tools"));
  client.setNotificationHandler(types.ResourceListChangedNotificationSchema, () =>
    onListChanged("resources"),
  );
  client.setNotificationHandler(types.PromptListChangedNotificationSchema, () => onListChanged("prompts"));
  return client;
}

/**
 * The SDK would compile a server's schemas to code and run its patterns in our loop. What a result must look like is
 * for the host to judge.
 */
const acceptEverything = {
  getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }) as never,
};

export async function loadMessageParser(): Promise<(value: object) => JSONRPCMessage> {
  const { JSONRPCMessageSchema } = await import("@modelcontextprotocol/sdk/types.js");
  return (value) => JSONRPCMessageSchema.parse(value);
}

export async function createHttpTransport(url: URL, fetchFn: Fetch): Promise<HttpTransport> {
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  const transport = new StreamableHTTPClientTransport(url, { fetch: fetchFn });
  return {
    transport: transport as Transport,
    async endSession() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, mcpLimits.endSessionMs);
      // A server that is gone or knows no sessions has nothing to end.
      await Promise.race([transport.terminateSession().catch(() => undefined), promise]);
      clearTimeout(timer);
    },
  };
}

export interface HttpTransport {
  readonly transport: Transport;
  endSession(): Promise<void>;
}
