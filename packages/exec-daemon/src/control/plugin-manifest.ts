/** What a plugin's `plugin.json` says, checked: its name, the MCP servers that it adds and its skills. Pure. */
import { BoxError } from "@sand/protocol";
import { type Fields, fieldsOf, rowsOf, textOf } from "../mcp/read-fields.ts";
import type { ServerConfig } from "../mcp/server-config.ts";
import { type ReadSettings, readServers } from "../mcp/settings-file.ts";

export interface PluginManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly skills: readonly { readonly name: string; readonly description: string; readonly path: string }[];
  /** as in the settings file; read with the folder that the plugin lies in */
  readonly mcpServers: unknown;
}

export const manifestName = "plugin.json";
/** in a server's command, arguments and variables it stands for the plugin's folder */
export const folderMark = "{pluginRoot}";

const skillsMax = 64;
const textMaxChars = 2000;

export function isPluginName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,31}$/u.test(name);
}

/** A path below a folder that can't lead out of it. */
export function isInnerPath(path: string): boolean {
  const steps = path.split("/");
  return (
    path.length <= 400 &&
    steps.length <= 16 &&
    !path.includes("\0") &&
    !path.includes("\\") &&
    steps.every((step) => step !== "" && step !== "." && step !== ".." && step.length <= 200)
  );
}

/** Throws `exec/invalid` with what is wrong. */
export function parseManifest(text: string, name: string): PluginManifest {
  const manifest = parseJson(text);
  if (textOf(manifest.name) !== name) throw invalid(`its name isn't ${name}`);
  const skills = rowsOf(manifest.skills).map((skill) => ({
    name: textOf(skill.name).slice(0, textMaxChars),
    description: textOf(skill.description).slice(0, textMaxChars),
    path: textOf(skill.path),
  }));
  if (skills.length > skillsMax) throw invalid("it has too many skills");
  if (skills.some((skill) => skill.name === "" || !isInnerPath(skill.path)))
    throw invalid("a skill has no name, or its path leads out of the plugin");
  return {
    name,
    version: textOf(manifest.version).slice(0, textMaxChars),
    description: textOf(manifest.description).slice(0, textMaxChars),
    skills,
    mcpServers: manifest.mcpServers,
  };
}

/** The plugin's servers, with its folder put in. Their ids begin with the plugin's name. */
export function serversOf(manifest: PluginManifest, folder: string, source: string): ReadSettings {
  const put = (text: string): string => text.replaceAll(folderMark, () => folder);
  const adapt = (server: ServerConfig): ServerConfig => {
    const { transport } = server;
    if (transport.kind === "http") return server;
    const [program, ...args] = transport.command;
    const env = Object.fromEntries(Object.entries(transport.env).map(([key, value]) => [key, put(value)]));
    return {
      ...server,
      transport: { ...transport, command: [put(program), ...args.map(put)], cwd: put(transport.cwd), env },
    };
  };
  return readServers(manifest.mcpServers, { source, idPrefix: `${manifest.name}.`, adapt });
}

function parseJson(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch (error) {
    throw new BoxError("exec/invalid", `the plugin's ${manifestName} is no JSON`, { cause: error });
  }
}

function invalid(problem: string): BoxError {
  return new BoxError("exec/invalid", `the plugin's ${manifestName}: ${problem}`);
}
