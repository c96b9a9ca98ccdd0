/**
 * The folder of installed plugins. A plugin is replaced as a whole: a reader finds the old one or the new one, and a
 * start that we didn't live through leaves at most a folder that begins with a dot.
 *
 * It lies beside the data root, not in it, because commands and MCP servers read what is in a plugin and may read
 * nothing of the data root. They can't change it where they are enclosed or have an account of their own.
 */
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { BoxError } from "@sand/protocol";
import type { PluginFile } from "@sand/protocol/exec";
import { mcpLimits } from "../mcp/mcp-limits.ts";
import {
  isInnerPath,
  isPluginName,
  manifestName,
  type PluginManifest,
  parseManifest,
} from "./plugin-manifest.ts";

export interface InstalledPlugin {
  readonly folder: string;
  readonly manifest: PluginManifest;
}

export interface PluginFolder {
  list(): { readonly plugins: readonly InstalledPlugin[]; readonly problems: readonly string[] };
  install(name: string, files: readonly PluginFile[]): InstalledPlugin;
  /** False when there was none. */
  remove(name: string): boolean;
}

export const pluginLimits = { pluginsMax: 64, filesMax: 1000, totalMaxBytes: 16 * 1024 * 1024 } as const;

const modes = { folder: 0o755, file: 0o644, program: 0o755 } as const;

export function openPluginFolder(root: string): PluginFolder {
  function names(): readonly string[] {
    if (!existsSync(root)) return [];
    return readdirSync(root).filter(isPluginName).slice(0, pluginLimits.pluginsMax);
  }

  function read(name: string): InstalledPlugin {
    const folder = join(root, name);
    const path = join(folder, manifestName);
    if (statSync(path).size > mcpLimits.settingsMaxBytes)
      throw new BoxError("exec/invalid", `the plugin's ${manifestName} is too large`);
    return { folder, manifest: parseManifest(readFileSync(path, "utf8"), name) };
  }

  function discard(name: string): boolean {
    const folder = join(root, name);
    if (!existsSync(folder)) return false;
    const old = join(root, `.${name}.${randomBytes(6).toString("hex")}`);
    renameSync(folder, old);
    rmSync(old, { recursive: true, force: true });
    return true;
  }

  return {
    list() {
      const plugins: InstalledPlugin[] = [];
      const problems: string[] = [];
      for (const name of names()) {
        try {
          plugins.push(read(name));
        } catch (error) {
          problems.push(`the plugin ${name} can't be used: ${error instanceof Error ? error.message : ""}`);
        }
      }
      return { plugins, problems };
    },
    install(name, files) {
      validate(name, files);
      if (!existsSync(join(root, name)) && names().length >= pluginLimits.pluginsMax)
        throw new BoxError("exec/too-many", `there can be ${pluginLimits.pluginsMax} plugins`);
      const fresh = join(root, `.${name}.${randomBytes(6).toString("hex")}`);
      try {
        writeFiles(fresh, files);
        discard(name);
        renameSync(fresh, join(root, name));
      } catch (error) {
        rmSync(fresh, { recursive: true, force: true });
        throw new BoxError("file/io", `the plugin can't be written to ${root}`, {
          cause: error,
          hint: "SAND_PLUGINS_ROOT names a folder that the daemon can write and commands can read",
        });
      }
      return read(name);
    },
    remove: (name) => isPluginName(name) && discard(name),
  };
}

function validate(name: string, files: readonly PluginFile[]): void {
  if (!isPluginName(name))
    throw new BoxError("exec/invalid", "a plugin's name has small letters, digits, `_` and `-`");
  if (files.length > pluginLimits.filesMax)
    throw new BoxError("exec/invalid", "the plugin has too many files");
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length || !files.every(({ path }) => isInnerPath(path)))
    throw new BoxError("exec/invalid", "a file's path is there twice or leads out of the plugin");
  if (files.reduce((sum, { data }) => sum + data.length, 0) > pluginLimits.totalMaxBytes)
    throw new BoxError("exec/invalid", "the plugin is too large");
  const manifest = files.find(({ path }) => path === manifestName);
  if (manifest === undefined) throw new BoxError("exec/invalid", `the plugin has no ${manifestName}`);
  const { skills } = parseManifest(Buffer.from(manifest.data).toString("utf8"), name);
  const missing = skills.find(({ path }) => !paths.has(path));
  if (missing !== undefined)
    throw new BoxError("exec/invalid", `the plugin has no file for its skill ${missing.name}`);
}

function writeFiles(folder: string, files: readonly PluginFile[]): void {
  mkdirSync(folder, { recursive: true, mode: modes.folder });
  for (const { path, data, executable } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: modes.folder });
    writeFileSync(join(folder, path), data, { flag: "wx", mode: executable ? modes.program : modes.file });
  }
}
