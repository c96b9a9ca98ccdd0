/** ListResources, ReadResource, ListPrompts and GetPrompt: one request each, handed on. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type {
  McpGetPromptRequest,
  McpGetPromptResponseSchema,
  McpListPromptsResponseSchema,
  McpListResourcesResponseSchema,
  McpReadResourceRequest,
  McpReadResourceResponseSchema,
} from "@sand/protocol/exec-mcp";
import { listPages } from "./list-pages.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { type Fields, jsonOf, rowsOf, textOf } from "./read-fields.ts";
import type { ServerHandle } from "./server-handle.ts";
import type { ServerSet } from "./server-set.ts";

export interface ResourcesAndPrompts {
  listResources(
    id: string,
    signal: AbortSignal,
  ): Promise<MessageInitShape<typeof McpListResourcesResponseSchema>>;
  readResource(
    request: McpReadResourceRequest,
    signal: AbortSignal,
  ): Promise<MessageInitShape<typeof McpReadResourceResponseSchema>>;
  listPrompts(
    id: string,
    signal: AbortSignal,
  ): Promise<MessageInitShape<typeof McpListPromptsResponseSchema>>;
  getPrompt(
    request: McpGetPromptRequest,
    signal: AbortSignal,
  ): Promise<MessageInitShape<typeof McpGetPromptResponseSchema>>;
}

export function createResourcesAndPrompts(servers: ServerSet): ResourcesAndPrompts {
  async function withServer<T>(
    id: string,
    signal: AbortSignal,
    work: (connection: McpConnection, handle: ServerHandle) => Promise<T>,
  ): Promise<T> {
    const handle = servers.find(id);
    const done = handle.touch();
    try {
      return await work(await handle.use(handle.config.startMaxMs + mcpLimits.startSlackMs, signal), handle);
    } finally {
      done();
    }
  }

  return {
    listResources: (id, signal) =>
      withServer(id, signal, async (connection, { config }) => {
        if (!connection.about.hasResources) return {};
        const query = { maxMs: config.callMaxMs, signal };
        const [resources, templates] = await Promise.all([
          listPages(connection, { ...query, method: "resources/list", field: "resources" }),
          listTemplates(connection, query),
        ]);
        return {
          resources: resources.rows.map((row) => ({ ...toNamed(row), uri: textOf(row.uri) })),
          templates: templates.rows.map((row) => ({ ...toNamed(row), uriTemplate: textOf(row.uriTemplate) })),
          truncated: resources.truncated || templates.truncated,
        };
      }),
    readResource: (request, signal) =>
      withServer(request.serverId, signal, async (connection, { config }) => {
        const params = { uri: bounded(request.uri, "the URI") };
        const answer = await connection.request({
          method: "resources/read",
          params,
          maxMs: config.callMaxMs,
          signal,
        });
        return { contentsJson: jsonOf(rowsOf(answer.contents)) };
      }),
    listPrompts: (id, signal) =>
      withServer(id, signal, async (connection, { config }) => {
        if (!connection.about.hasPrompts) return {};
        const query = { method: "prompts/list", field: "prompts", maxMs: config.callMaxMs, signal };
        const { rows, truncated } = await listPages(connection, query);
        return { prompts: rows.map(toPrompt), truncated };
      }),
    getPrompt: (request, signal) =>
      withServer(request.serverId, signal, async (connection, { config }) => {
        const params = { name: bounded(request.name, "the name"), arguments: request.arguments };
        const answer = await connection.request({
          method: "prompts/get",
          params,
          maxMs: config.callMaxMs,
          signal,
        });
        return { description: textOf(answer.description), messagesJson: jsonOf(rowsOf(answer.messages)) };
      }),
  };
}

/** Many servers with resources know no templates and refuse the question. */
async function listTemplates(
  connection: McpConnection,
  query: { readonly maxMs: number; readonly signal: AbortSignal },
): ReturnType<typeof listPages> {
  try {
    return await listPages(connection, {
      ...query,
      method: "resources/templates/list",
      field: "resourceTemplates",
    });
  } catch (error) {
    if (error instanceof BoxError && error.code === "mcp/refused") return { rows: [], truncated: false };
    throw error;
  }
}

function toNamed(row: Fields) {
  return {
    name: textOf(row.name),
    title: textOf(row.title),
    description: textOf(row.description),
    mimeType: textOf(row.mimeType),
  };
}

function toPrompt(row: Fields) {
  return {
    name: textOf(row.name),
    title: textOf(row.title),
    description: textOf(row.description),
    arguments: rowsOf(row.arguments).map((argument) => ({
      name: textOf(argument.name),
      description: textOf(argument.description),
      required: argument.required === true,
    })),
  };
}

const uriMaxChars = 8192;

function bounded(text: string, what: string): string {
  if (text === "" || text.length > Math.max(mcpLimits.namesMaxChars, uriMaxChars))
    throw new BoxError("exec/invalid", `${what} is empty or too long`);
  return text;
}
