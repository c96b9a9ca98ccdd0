/**
 * What of the box is reached through the gateway. Pure.
 *
 * Only what a person's tools need: commands, files, terminals, and a few questions. What gives the daemon secrets,
 * plugins or servers isn't among it. A path with anything that could be resolved to another path is refused.
 */

export interface RelayTarget {
  readonly door: "rpc" | "pty";
  /** path and query, as the daemon is asked */
  readonly path: string;
}

const callPattern = /^\/box\/rpc\/(exec\.v1\.[A-Z][A-Za-z]{0,31})\/([A-Z][A-Za-z]{0,31})$/u;
const terminalPattern =
  /^\/box\/pty(\/terminals(?:\/[A-Za-z0-9](?:[A-Za-z0-9._:-]|%3A){0,127}(?:\/[a-z]{1,16})?)?)$/u;
const attachPattern = /\/attach$/u;

/** `null`: all methods of the service */
const services: Readonly<Record<string, readonly string[] | null>> = {
  "exec.v1.Processes": null,
  "exec.v1.Files": null,
  "exec.v1.Control": ["Ping", "Capabilities", "ListeningPorts", "ResourceUsage"],
};

/** Undefined when the gateway leads to nothing there. */
export function findRelayTarget(method: string, url: string): RelayTarget | undefined {
  const [path = "", ...rest] = url.split("?");
  const query = rest.length === 0 ? "" : `?${rest.join("?")}`;
  const [, service = "", verb = ""] = callPattern.exec(path) ?? [];
  if (service !== "") {
    const verbs = Object.hasOwn(services, service) ? services[service] : undefined;
    const isOpen = method === "POST" && verbs !== undefined && (verbs === null || verbs.includes(verb));
    return isOpen ? { door: "rpc", path: `/${service}/${verb}${query}` } : undefined;
  }
  const terminal = terminalPattern.exec(path)?.[1];
  if (terminal === undefined || !["GET", "POST", "DELETE"].includes(method)) return undefined;
  return { door: "pty", path: `${terminal}${query}` };
}

/** Whether a request asks for the one thing that is a WebSocket here; any other wish to change protocols is passed over. */
export function isTerminalUpgrade(method: string, url: string, upgrade: string | undefined): boolean {
  if (upgrade?.toLowerCase() !== "websocket" || method !== "GET") return false;
  const target = findRelayTarget(method, url);
  return target?.door === "pty" && attachPattern.test(target.path.split("?", 1)[0] ?? "");
}
