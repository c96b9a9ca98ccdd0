/** Binds the verbs to the service for MCP servers. Nothing is decided here but what a source may be named. */
import type { ConnectRouter } from "@connectrpc/connect";
import { BoxError, type Clock } from "@sand/protocol";
import { Mcp as McpService } from "@sand/protocol/exec-mcp";
import { createCallTool } from "./call-tool.ts";
import { createListTools } from "./list-tools.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { type Mcp, ownSources } from "./open-mcp.ts";
import { createResourcesAndPrompts } from "./resources-and-prompts.ts";
import { parseServer } from "./server-config.ts";
import { toServerState } from "./to-server-state.ts";
import { watchServers } from "./watch-servers.ts";

export function registerMcpRoutes(router: ConnectRouter, mcp: Mcp, clock: Clock): void {
  const { servers } = mcp;
  const listTools = createListTools(servers);
  const callTool = createCallTool(servers);
  const others = createResourcesAndPrompts(servers);
  const states = () => servers.list().map((handle) => toServerState(handle, clock));

  router.service(McpService, {
    loadServers: (request) => {
      const source = checkSource(request.source);
      servers.load(
        source,
        request.servers.map((server) => parseServer(server, source)),
      );
      return { servers: states() };
    },
    reloadServers: () => {
      const problems = [...mcp.reload()];
      return { servers: states(), problems };
    },
    listServers: () => ({ servers: states() }),
    watchServers: (_request, context) => watchServers(servers, clock, context.signal),
    listTools: (request, context) => listTools(request, context.signal),
    callTool: (request, context) => callTool(request, context.signal),
    listResources: (request, context) => others.listResources(request.serverId, context.signal),
    readResource: (request, context) => others.readResource(request, context.signal),
    listPrompts: (request, context) => others.listPrompts(request.serverId, context.signal),
    getPrompt: (request, context) => others.getPrompt(request, context.signal),
    closeServer: async (request) => ({ closed: await servers.find(request.serverId).close() }),
    restartServer: async (request, context) => {
      const handle = servers.find(request.serverId);
      await handle.close();
      handle.forgive();
      await handle.use(handle.config.startMaxMs + mcpLimits.startSlackMs, context.signal);
      return { server: toServerState(handle, clock) };
    },
    readServerLog: (request) => {
      const { data, dropped } = servers.find(request.serverId).logRing.read();
      return { data, dropped: BigInt(dropped) };
    },
    ...loginVerbs(mcp),
  });
}

function loginVerbs(mcp: Mcp) {
  return {
    beginLogin: async (request: { serverId: string; redirectUrl: string }) => {
      if (!URL.canParse(request.redirectUrl) || request.redirectUrl.length > mcpLimits.textMaxChars)
        throw new BoxError("exec/invalid", "redirect_url is no URL");
      return { authorizationUrl: await mcp.loginOf(request.serverId).begin(request.redirectUrl) };
    },
    finishLogin: async (request: { serverId: string; code: string; state: string }) => {
      if (request.code === "" || request.code.length > mcpLimits.textMaxChars)
        throw new BoxError("exec/invalid", "the code is empty or too long");
      await mcp.loginOf(request.serverId).finish(request.code, request.state);
      mcp.servers.find(request.serverId).forgive();
      return {};
    },
    forgetLogin: async (request: { serverId: string }) => {
      const existed = mcp.loginOf(request.serverId).forget();
      await mcp.servers.find(request.serverId).close();
      return { existed };
    },
  };
}

function checkSource(source: string): string {
  const isOwn = source === ownSources.file || source.startsWith(ownSources.plugins);
  if (/^[A-Za-z0-9][A-Za-z0-9_.:-]*$/u.test(source) && source.length <= mcpLimits.sourceMaxChars && !isOwn)
    return source;
  throw new BoxError(
    "exec/invalid",
    "a source has letters, digits and `_.:-`, and is none of the daemon's own",
    {
      hint: "for instance the name of the program that loads them",
    },
  );
}
