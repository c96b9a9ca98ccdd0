/** A daemon with MCP servers, and a client of its services for them. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Control } from "@sand/protocol/exec";
import { Mcp, type McpServer, type McpToolResult } from "@sand/protocol/exec-mcp";
import { startTestDaemon, type TestDaemon, token } from "./daemon-process.ts";

export const oddServer = join(import.meta.dirname, "mcp-odd-server.mjs");

type ServerInit = Partial<Omit<McpServer, "$typeName" | "transport">> & {
  readonly id: string;
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly secretEnv?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly secretHeaders?: Readonly<Record<string, string>>;
  readonly oauth?: { readonly clientId?: string; readonly scope?: string };
};

export interface McpWorld {
  readonly daemon: TestDaemon;
  readonly mcp: Client<typeof Mcp>;
  readonly control: Client<typeof Control>;
  load(...servers: readonly ServerInit[]): Promise<void>;
  /** The result of a call, without its progress. */
  call(serverId: string, name: string, args?: Readonly<Record<string, unknown>>): Promise<McpToolResult>;
  /** The same, as the text of its first content. */
  say(serverId: string, name: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  dispose(): Promise<void>;
}

export async function startMcpWorld(env: Record<string, string> = {}): Promise<McpWorld> {
  return connect(await startTestDaemon(env));
}

export function connect(daemon: TestDaemon): McpWorld {
  const transport = createConnectTransport({
    baseUrl: daemon.baseUrl,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  const mcp = createClient(Mcp, transport);

  async function call(serverId: string, name: string, args: Readonly<Record<string, unknown>> = {}) {
    for await (const { event } of mcp.callTool({ serverId, name, argumentsJson: JSON.stringify(args) }))
      if (event.case === "result") return event.value;
    throw new Error("the call ended without a result");
  }

  return {
    daemon,
    mcp,
    control: createClient(Control, transport),
    load: async (...servers) =>
      void (await mcp.loadServers({ source: "test", servers: servers.map(toMessage) })),
    call,
    async say(serverId, name, args) {
      const { contentJson } = await call(serverId, name, args);
      return JSON.parse(contentJson)[0]?.text;
    },
    dispose: () => daemon.dispose(),
  };
}

function toMessage({ command, env, secretEnv, url, secretHeaders, oauth, ...server }: ServerInit) {
  if (url !== undefined) {
    const value = {
      url,
      ...(secretHeaders === undefined ? {} : { secretHeaders }),
      ...(oauth === undefined ? {} : { oauth }),
    };
    return { ...server, transport: { case: "http", value } as const };
  }
  const value = {
    command: [...(command ?? [])],
    ...(env === undefined ? {} : { env }),
    ...(secretEnv === undefined ? {} : { secretEnv }),
  };
  return { ...server, transport: { case: "stdio", value } as const };
}

/** The command of the odd server with these flags. */
export function odd(...flags: readonly string[]): readonly string[] {
  return [process.execPath, oddServer, ...flags];
}

const require = createRequire(import.meta.url);
/** The programs of real servers, installed to test with. */
export const realServers = {
  everything: programOf(require.resolve("@modelcontextprotocol/server-everything/package.json")),
  filesystem: programOf(require.resolve("@modelcontextprotocol/server-filesystem/package.json")),
} as const;

function programOf(manifest: string): string {
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(dirname(manifest), String(Object.values(bin)[0]));
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false;
  }
}

/** Our code of the refusal, or undefined when there was none. */
export async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error && "metadata" in error && error.metadata instanceof Headers
      ? (error.metadata.get("x-sand-code") ?? "")
      : String(error);
  }
}
