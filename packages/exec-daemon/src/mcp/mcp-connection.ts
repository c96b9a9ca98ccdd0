/**
 * One connection to a server, from the start of its process or session to its end. It is made whole or not at all: what
 * was started for one that doesn't come up is ended before the failure is told.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { BoxError } from "@sand/protocol";
import { shorten, toMcpError } from "./mcp-errors.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { createMcpClient, type ListKind } from "./sdk.ts";

export interface ServerAbout {
  readonly name: string;
  readonly version: string;
  readonly instructions: string;
  readonly hasTools: boolean;
  readonly hasResources: boolean;
  readonly hasPrompts: boolean;
  /** it says when this list changes, so the list may be kept until then */
  readonly tellsToolChanges: boolean;
}

export interface McpConnection {
  readonly about: ServerAbout;
  /** 0 when no process of ours runs it */
  readonly pid: number;
  readonly sandboxed: boolean;
  /** why it ended; resolves once */
  readonly ended: Promise<BoxError>;
  request(request: McpRequest): Promise<Readonly<Record<string, unknown>>>;
  /** Ends what belongs to it; resolves when nothing is left. */
  close(): Promise<void>;
}

export interface McpRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly maxMs: number;
  readonly totalMaxMs?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

/** What carries the connection: made by `open-stdio.ts` or `open-http.ts`. */
export interface Carrier {
  readonly transport: Transport;
  readonly pid: number;
  readonly sandboxed: boolean;
  readonly ended: Promise<BoxError>;
  end(): Promise<void>;
  /** Whether a failed request means that the connection is of no use any more. */
  isFatal(error: unknown): boolean;
}

export interface ConnectOptions {
  readonly startMaxMs: number;
  readonly signal: AbortSignal;
  readonly onListChanged: (kind: ListKind) => void;
}

export async function connectServer(carrier: Carrier, options: ConnectOptions): Promise<McpConnection> {
  try {
    const client = await createMcpClient(options);
    await greet(client, carrier, options);
    return createConnection(client, carrier);
  } catch (error) {
    await carrier.end();
    throw error;
  }
}

async function greet(client: Client, carrier: Carrier, options: ConnectOptions): Promise<void> {
  const { startMaxMs: timeout, signal } = options;
  // The end of its process is told at once, and better than by a deadline.
  const early = carrier.ended.then((reason) => Promise.reject(reason));
  try {
    await Promise.race([client.connect(carrier.transport, { timeout, signal }), early]);
  } catch (error) {
    const known = await knowBetter(toMcpError(error), carrier);
    if (known.code !== "mcp/timeout") throw known;
    throw new BoxError("mcp/timeout", `the server did not answer initialize within ${timeout} ms`, {
      hint: "look at what it wrote to its standard error: ReadServerLog",
    });
  }
}

function createConnection(client: Client, carrier: Carrier): McpConnection {
  const over = Promise.withResolvers<BoxError>();
  const end = over.resolve;
  void carrier.ended.then(end);
  return {
    about: describe(client),
    pid: carrier.pid,
    sandboxed: carrier.sandboxed,
    ended: over.promise,
    async request(request) {
      try {
        return await send(client, request);
      } catch (error) {
        request.signal?.throwIfAborted();
        const known = await knowBetter(toMcpError(error), carrier);
        if (carrier.isFatal(error)) end(known);
        throw known;
      }
    },
    async close() {
      end(new BoxError("mcp/unavailable", "the server was closed"));
      await carrier.end();
      // Whoever still waits for an answer is told.
      await client.close();
    },
  };
}

/** That the connection is gone is what everyone sees first; why, is known a moment later. */
async function knowBetter(seen: BoxError, carrier: Carrier): Promise<BoxError> {
  if (seen.code !== "mcp/unavailable") return seen;
  const noReason = new Promise<BoxError>((resolve) => setImmediate(resolve, seen));
  return await Promise.race([carrier.ended, noReason]);
}

async function send(client: Client, request: McpRequest): Promise<Readonly<Record<string, unknown>>> {
  const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const { method, params, signal, onProgress } = request;
  return await client.request(
    { method, params: { ...params } } as Parameters<Client["request"]>[0],
    ResultSchema,
    {
      timeout: request.maxMs,
      maxTotalTimeout: request.totalMaxMs ?? request.maxMs,
      resetTimeoutOnProgress: true,
      ...(signal === undefined ? {} : { signal }),
      ...(onProgress === undefined ? {} : { onprogress: onProgress as never }),
    },
  );
}

function describe(client: Client): ServerAbout {
  const [version, capabilities] = [client.getServerVersion(), client.getServerCapabilities()];
  return {
    name: shorten(version?.name ?? ""),
    version: shorten(version?.version ?? ""),
    instructions: shorten(client.getInstructions() ?? "", mcpLimits.instructionsMaxChars),
    hasTools: capabilities?.tools !== undefined,
    hasResources: capabilities?.resources !== undefined,
    hasPrompts: capabilities?.prompts !== undefined,
    tellsToolChanges: capabilities?.tools?.listChanged === true,
  };
}
