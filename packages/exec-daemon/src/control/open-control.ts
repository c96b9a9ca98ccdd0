/** Puts the control side of the daemon together: what the box is started with, what runs in it, and its plugins. */
import type { ServiceImpl } from "@connectrpc/connect";
import { type Logger, type Scope, systemClock } from "@sand/node-kit";
import type { Control } from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type Mcp, openMcp } from "../mcp/open-mcp.ts";
import type { BoxEnvironment } from "./box-environment.ts";
import { createBoxOwners } from "./box-owners.ts";
import { listPorts } from "./listening-ports.ts";
import { type InstalledPlugin, openPluginFolder } from "./plugin-folder.ts";
import { serversOf } from "./plugin-manifest.ts";
import { describeUsage } from "./resource-usage.ts";

export type ControlVerbs = Partial<Omit<ServiceImpl<typeof Control>, "ping" | "capabilities">>;

export interface OpenedControl {
  readonly verbs: ControlVerbs;
  readonly mcp: Mcp;
}

export interface OpenControlDeps {
  readonly dataRoot: string;
  readonly pluginsRoot: string;
  readonly policy: BoxPolicy;
  readonly environment: BoxEnvironment;
  readonly ledger: Ledger;
  readonly scope: Scope;
  readonly log: Logger;
}

const pluginSource = "plugins";

export function openControl(deps: OpenControlDeps): OpenedControl {
  const { policy, environment, ledger, scope, log, dataRoot } = deps;
  const folder = openPluginFolder(deps.pluginsRoot);
  const readPlugins = () => {
    const { plugins, problems } = folder.list();
    const read = plugins.map(({ manifest, folder: place }) => serversOf(manifest, place, pluginSource));
    return {
      servers: read.flatMap(({ servers }) => servers),
      problems: [...problems, ...read.flatMap((one) => one.problems)],
    };
  };
  const mcp = openMcp({ dataRoot, policy, environment, scope, log, plugins: readPlugins });
  const owners = createBoxOwners({ ledger, servers: mcp.servers });
  const verbs: ControlVerbs = {
    refreshEnvironment: (request) => environment.refresh(request),
    syncSecrets: (request) => environment.sync(request),
    resourceUsage: (request) =>
      describeUsage({ clock: systemClock, owners, workspaceRoot: policy.workspaceRoot }, request),
    listeningPorts: (request) => listPorts({ owners, user: policy.user }, request),
    installPlugin: async ({ name, files }) => {
      const plugin = folder.install(name, files);
      // A server that is the same by its configuration is another program now.
      await closeServersOf(mcp, name);
      mcp.reload();
      return { plugin: toPlugin(plugin) };
    },
    removePlugin: async ({ name }) => {
      await closeServersOf(mcp, name);
      const existed = folder.remove(name);
      mcp.reload();
      return { existed };
    },
    listPlugins: () => {
      const { plugins } = folder.list();
      return { plugins: plugins.map(toPlugin), problems: readPlugins().problems };
    },
  };
  return { verbs, mcp };
}

async function closeServersOf(mcp: Mcp, plugin: string): Promise<void> {
  const own = mcp.servers
    .list()
    .filter(({ config }) => config.source === pluginSource && config.id.startsWith(`${plugin}.`));
  await Promise.all(own.map((handle) => handle.close()));
}

function toPlugin({ folder, manifest }: InstalledPlugin) {
  const { name, version, description } = manifest;
  const { servers } = serversOf(manifest, folder, pluginSource);
  return {
    ...{ name, version, description, folder },
    mcpServerIds: servers.map(({ id }) => id),
    skills: manifest.skills.map((skill) => ({ ...skill })),
  };
}
