/**
 * The servers of `mcp.json` under the data root, in the shape that other programs have made usual, so that a file can be
 * copied: `{ "mcpServers": { "<id>": { "command": …, "args": […], "env": {…} } or { "url": …, "headers": {…} } } }`.
 *
 * A server that can't be read is left out and said; the others are no worse for it.
 */
import { readFileSync, statSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import { type McpServer, McpServerSchema } from "@sand/protocol/exec-mcp";
import { mcpLimits } from "./mcp-limits.ts";
import { type Fields, fieldsOf, textOf } from "./read-fields.ts";
import { parseServer, type ServerConfig } from "./server-config.ts";

export interface ReadSettings {
  readonly servers: readonly ServerConfig[];
  /** what couldn't be read, for people */
  readonly problems: readonly string[];
}

export interface SettingsPlace {
  readonly source: string;
  /** before the ids of the file's servers */
  readonly idPrefix?: string;
  /** changes of what a server is, for instance where it may look */
  readonly adapt?: (server: ServerConfig) => ServerConfig;
}

/** No file is no servers. */
export function readSettingsFile(path: string, place: SettingsPlace): ReadSettings {
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined) return { servers: [], problems: [] };
    if (size > mcpLimits.settingsMaxBytes) return { servers: [], problems: [`${path} is too large`] };
    return readServers(fieldsOf(JSON.parse(readFileSync(path, "utf8"))).mcpServers, place);
  } catch (error) {
    return {
      servers: [],
      problems: [`${path} can't be read: ${error instanceof Error ? error.message : ""}`],
    };
  }
}

export function readServers(value: unknown, place: SettingsPlace): ReadSettings {
  const servers: ServerConfig[] = [];
  const problems: string[] = [];
  for (const [name, row] of Object.entries(fieldsOf(value)).slice(0, mcpLimits.serversMax)) {
    try {
      if (fieldsOf(row).disabled === true) continue;
      const server = parseServer(toMessage(`${place.idPrefix ?? ""}${name}`, fieldsOf(row)), place.source);
      servers.push(place.adapt?.(server) ?? server);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      problems.push(error.message);
    }
  }
  return { servers, problems };
}

function toMessage(id: string, row: Fields): McpServer {
  const common = {
    id,
    startMaxMs: count(row.startMaxMs),
    callMaxMs: count(row.callMaxMs),
    idleMaxMs: count(row.idleMaxMs),
  };
  if (row.command !== undefined) return create(McpServerSchema, { ...common, transport: toStdio(id, row) });
  if (row.url !== undefined) return create(McpServerSchema, { ...common, transport: toHttp(id, row) });
  return create(McpServerSchema, common);
}

function toStdio(id: string, row: Fields) {
  const value = {
    command: [textOf(row.command), ...texts(id, row.args, "args")],
    cwd: textOf(row.cwd),
    env: textMap(id, row.env, "env"),
    secretEnv: textMap(id, row.secretEnv, "secretEnv"),
    writableRoots: texts(id, row.writableRoots, "writableRoots"),
    maskedPaths: texts(id, row.maskedPaths, "maskedPaths"),
  };
  return { case: "stdio", value } as const;
}

function toHttp(id: string, row: Fields) {
  const login = fieldsOf(row.oauth);
  const oauth =
    row.oauth === undefined || row.oauth === false
      ? {}
      : {
          oauth: {
            clientId: textOf(login.clientId),
            clientSecret: textOf(login.clientSecret),
            scope: textOf(login.scope),
          },
        };
  const value = {
    url: textOf(row.url),
    headers: textMap(id, row.headers, "headers"),
    secretHeaders: textMap(id, row.secretHeaders, "secretHeaders"),
    ...oauth,
  };
  return { case: "http", value } as const;
}

function texts(id: string, value: unknown, name: string): string[] {
  const list: readonly unknown[] = value === undefined ? [] : Array.isArray(value) ? value : [undefined];
  return list.map((entry) => {
    if (typeof entry === "string") return entry;
    throw new BoxError("exec/invalid", `the MCP server ${id}: ${name} is no list of texts`);
  });
}

function textMap(id: string, value: unknown, name: string): Record<string, string> {
  const entries = Object.entries(fieldsOf(value));
  return Object.fromEntries(
    entries.map(([key, entry]) => {
      if (typeof entry === "string") return [key, entry];
      throw new BoxError("exec/invalid", `the MCP server ${id}: ${name} holds something that is no text`);
    }),
  );
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff
    ? value
    : 0;
}
