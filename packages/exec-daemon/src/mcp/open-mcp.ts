/**
 * Puts the MCP side of the daemon together: where servers come from, what opens one, and the verbs over them. Nothing is
 * started here, and the SDK isn't loaded, until a server is used.
 */
import { join } from "node:path";
import { type Logger, type Scope, systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { BoxPolicy } from "../box-policy.ts";
import type { BoxEnvironment } from "../control/box-environment.ts";
import type { HttpConfig } from "./http-config.ts";
import { createLoginFetch } from "./login-fetch.ts";
import { openLoginStore } from "./login-store.ts";
import type { Carrier } from "./mcp-connection.ts";
import { openHttp } from "./open-http.ts";
import { openStdio } from "./open-stdio.ts";
import type { ServerConfig } from "./server-config.ts";
import { createServerFetch } from "./server-fetch.ts";
import { createServerLogin, type ServerLogin } from "./server-login.ts";
import { createServerSet, type ServerSet } from "./server-set.ts";
import { openServerTraces } from "./server-traces.ts";
import { type ReadSettings, readSettingsFile } from "./settings-file.ts";

export interface Mcp {
  readonly servers: ServerSet;
  /** Reads the settings file and the plugins again. Returns what couldn't be read, for people. */
  reload(): readonly string[];
  /** The login of an HTTP server; throws when the server has none. */
  loginOf(id: string): ServerLogin;
}

export interface OpenMcpDeps {
  readonly dataRoot: string;
  readonly policy: BoxPolicy;
  readonly environment: BoxEnvironment;
  readonly scope: Scope;
  readonly log: Logger;
  /** the servers of installed plugins */
  readonly plugins: () => ReadSettings;
}

export const settingsFileName = "mcp.json";
/** sources that only the daemon itself loads */
export const ownSources = { file: "file", plugins: "plugins" } as const;

export function openMcp(deps: OpenMcpDeps): Mcp {
  const { policy, environment, scope, log } = deps;
  const root = join(deps.dataRoot, "mcp");
  const clock = systemClock;
  const traces = openServerTraces({ folder: join(root, "running"), clock, log });
  const store = openLoginStore(join(root, "logins"));
  const logins = new Map<string, ServerLogin>();
  const leftovers = traces.endLeftovers();

  function secretsFor(
    id: string,
    wanted: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>> {
    const secrets = environment.secretsOf(`mcp:${id}`);
    return Object.fromEntries(
      Object.entries(wanted).map(([name, secret]) => [name, secretOf(id, secrets, secret)]),
    );
  }

  /** One for each configuration, so that tokens are renewed by one at a time. */
  function loginFor(id: string, { url, oauth }: HttpConfig): ServerLogin | undefined {
    if (oauth === undefined) return undefined;
    const key = JSON.stringify([id, url, oauth]);
    const login =
      logins.get(key) ??
      createServerLogin({
        ...{ serverId: id, url, oauth, store, clock },
        fetch: createLoginFetch(url, fetch),
        clientSecret: () => secretOf(id, environment.secretsOf(`mcp:${id}`), oauth.clientSecret),
      });
    logins.set(key, login);
    return login;
  }

  async function open(
    { id, transport }: ServerConfig,
    logRing: Parameters<typeof openStdio>[1]["logRing"],
  ): Promise<Carrier> {
    await leftovers;
    if (transport.kind === "stdio") {
      const env = { ...transport.env, ...secretsFor(id, transport.secretEnv) };
      const onLeftBehind = (pids: readonly number[]): void =>
        log.error(
          { event: "mcp.left-behind", serverId: id, pids },
          "processes of an MCP server can't be ended",
        );
      return await openStdio(
        { policy, clock, traces, onLeftBehind },
        { id, config: transport, env, logRing },
      );
    }
    const headers = { ...transport.headers, ...secretsFor(id, transport.secretHeaders) };
    const login = loginFor(id, transport);
    const { url } = transport;
    return await openHttp({
      url,
      fetch: createServerFetch({ serverId: id, url, headers, login, inner: fetch }),
    });
  }

  const servers = createServerSet({
    clock,
    open,
    run: (name, work) => scope.run(name, () => work()),
  });
  scope.defer(() => servers.close());
  scope.run("end MCP servers of an earlier daemon", () => leftovers);
  environment.onSecrets((changed) => {
    const handle = servers.list().find(({ config }) => `mcp:${config.id}` === changed);
    // What it was started with is another one now; the next use starts it with the new ones.
    if (handle !== undefined) scope.run("close an MCP server", async () => void (await handle.close()));
    handle?.forgive();
  });

  const mcp: Mcp = {
    servers,
    reload() {
      const file = readSettingsFile(join(deps.dataRoot, settingsFileName), { source: ownSources.file });
      const plugins = deps.plugins();
      return [
        ...file.problems,
        ...plugins.problems,
        ...loadSafely(servers, ownSources.file, file.servers),
        ...loadSafely(servers, ownSources.plugins, plugins.servers),
      ];
    },
    loginOf(id) {
      const { transport } = servers.find(id).config;
      const login = transport.kind === "http" ? loginFor(id, transport) : undefined;
      if (login === undefined)
        throw new BoxError("exec/invalid", `the MCP server ${id} has no login`, {
          hint: "only an HTTP server that is configured with oauth has one",
        });
      return login;
    },
  };
  for (const problem of mcp.reload()) log.warn({ event: "mcp.settings" }, problem);
  return mcp;
}

function secretOf(id: string, secrets: Readonly<Record<string, string>>, name: string): string {
  const value = secrets[name];
  if (value !== undefined) return value;
  throw new BoxError("mcp/unavailable", `the secret ${name} of the MCP server ${id} is not here`, {
    hint: `SyncSecrets with the scope mcp:${id}`,
  });
}

/** A clash of ids spoils the one source that brings it. */
function loadSafely(servers: ServerSet, source: string, configs: readonly ServerConfig[]): readonly string[] {
  try {
    servers.load(source, configs);
    return [];
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return [error.message];
  }
}
