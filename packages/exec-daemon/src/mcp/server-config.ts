/**
 * What a server is configured to be, checked once. From here on a configuration is sound: ids and names are safe to
 * show, deadlines are in range, a URL is one.
 */
import { BoxError } from "@sand/protocol";
import type { McpServer } from "@sand/protocol/exec-mcp";
import { type HttpConfig, validateHttp, validateNames } from "./http-config.ts";
import { mcpLimits } from "./mcp-limits.ts";

export interface StdioConfig {
  readonly kind: "stdio";
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** variable → name of the secret */
  readonly secretEnv: Readonly<Record<string, string>>;
  readonly writableRoots: readonly string[];
  readonly maskedPaths: readonly string[];
  /** shown to an enclosed server although they lie where nothing is shown: a plugin's folder */
  readonly readOnlyRoots: readonly string[];
}

export interface ServerConfig {
  readonly id: string;
  readonly source: string;
  readonly transport: StdioConfig | HttpConfig;
  readonly startMaxMs: number;
  readonly callMaxMs: number;
  /** 0 is never */
  readonly idleMaxMs: number;
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/u;
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const textMaxBytes = 64 * 1024;
const wordsMax = 1024;
const rootsMax = 64;
const idleMaxMs = 24 * 60 * 60_000;

/** Throws `exec/invalid` and names what is wrong. */
export function parseServer(server: McpServer, source: string): ServerConfig {
  const { id } = server;
  if (!idPattern.test(id) || id.length > mcpLimits.idMaxChars)
    throw invalid(id, "an id has letters, digits, `_`, `-` and `.`, and begins with one of the first two");
  return {
    id,
    source,
    transport: parseTransport(server),
    startMaxMs: inRange(server.startMaxMs, mcpLimits.startDefaultMs, mcpLimits.startMaxMs),
    callMaxMs: inRange(server.callMaxMs, mcpLimits.callDefaultMs, mcpLimits.callMaxMs),
    idleMaxMs: Math.min(server.idleMaxMs, idleMaxMs),
  };
}

function parseTransport({ id, transport }: McpServer): StdioConfig | HttpConfig {
  switch (transport.case) {
    case "stdio": {
      const { command, cwd, env, secretEnv, writableRoots, maskedPaths } = transport.value;
      const [program = "", ...args] = command;
      const config = { kind: "stdio", command: [program, ...args], cwd, env, secretEnv } as const;
      const whole: StdioConfig = { ...config, writableRoots, maskedPaths, readOnlyRoots: [] };
      validateStdio(id, whole);
      return whole;
    }
    case "http": {
      const { url, headers, secretHeaders, oauth } = transport.value;
      const login =
        oauth === undefined
          ? undefined
          : { clientId: oauth.clientId, clientSecret: oauth.clientSecret, scope: oauth.scope };
      const config: HttpConfig = { kind: "http", url, headers, secretHeaders, oauth: login };
      validateHttp(id, config);
      return config;
    }
    case undefined:
      throw invalid(id, "there is neither a command nor a URL");
  }
}

function validateStdio(id: string, config: StdioConfig): void {
  if (config.command[0] === "") throw invalid(id, "there is no command");
  const words = [...config.command, config.cwd, ...Object.entries(config.env).flat()];
  if (words.some((word) => word.includes("\0"))) throw invalid(id, "a word holds a NUL");
  if (words.length > wordsMax || words.join("").length > textMaxBytes) throw invalid(id, "it is too long");
  validateNames(id, config.env, variablePattern);
  validateNames(id, config.secretEnv, variablePattern);
  const roots = [...config.writableRoots, ...config.maskedPaths];
  if (roots.length > rootsMax) throw invalid(id, "too many sandbox paths");
  if (roots.some((root) => !root.startsWith("/") || root.includes("\0")))
    throw invalid(id, "sandbox paths must be absolute");
}

function inRange(asked: number, fallback: number, max: number): number {
  return asked === 0 ? fallback : Math.min(asked, max);
}

function invalid(id: string, problem: string): BoxError {
  return new BoxError("exec/invalid", `the MCP server ${JSON.stringify(id.slice(0, 80))}: ${problem}`);
}

/** Whether a server that runs by the one can go on under the other. */
export function isSameServer(a: ServerConfig, b: ServerConfig): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The order of a map's entries is the sender's accident. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
