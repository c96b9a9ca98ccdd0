/**
 * Finds the host to talk to: the one that the environment names, else the one that runs under the data root, else
 * the container that `sand up` started.
 *
 * A discovery file alone proves nothing (a killed host leaves it behind), so callers ask `/health` as well.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CliConfig } from "../config.ts";

export interface GatewayLocation {
  readonly url: string;
  readonly token: string | undefined;
  readonly source: "environment" | "discovery" | "container";
  /** only of a host found by its discovery file */
  readonly pid?: number;
  readonly startedAt?: number;
}

export const discoveryFileName = "gateway.json";
export const containerFileName = "container.json";
const wildcardHosts: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]", "", "*"]);

export function findGateway(config: CliConfig, dataRoot: string): GatewayLocation | undefined {
  if (config.gatewayUrl !== undefined) {
    return { url: config.gatewayUrl.replace(/\/+$/u, ""), token: config.gatewayToken, source: "environment" };
  }
  return readDiscovery(dataRoot) ?? readContainer(dataRoot);
}

export function readDiscovery(dataRoot: string): GatewayLocation | undefined {
  const file = readJson(join(dataRoot, discoveryFileName));
  return file === undefined ? undefined : parseDiscovery(file);
}

function readContainer(dataRoot: string): GatewayLocation | undefined {
  const file = readJson(join(dataRoot, containerFileName));
  if (file === undefined || typeof file.url !== "string" || typeof file.token !== "string") return undefined;
  return { url: file.url, token: file.token, source: "container" };
}

export function parseDiscovery(file: Readonly<Record<string, unknown>>): GatewayLocation | undefined {
  const { port, pid, startedAt } = file;
  if (typeof port !== "number" || port <= 0 || typeof pid !== "number" || pid <= 0) return undefined;
  const scheme = file.scheme === "https" ? "https" : "http";
  const host = typeof file.host === "string" && !wildcardHosts.has(file.host) ? file.host : "127.0.0.1";
  const named = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return {
    url: `${scheme}://${named}:${port}`,
    token: typeof file.token === "string" && file.token !== "" ? file.token : undefined,
    source: "discovery",
    pid,
    ...(typeof startedAt === "number" ? { startedAt } : {}),
  };
}

export function readJson(path: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    // Absent, being replaced, or not ours: in each case there is nothing to go by.
    return undefined;
  }
}
