/** Whether the proxy may dial for a command: first the name, then the address that the name leads to. Pure. */
import { classifyAddress, isInNets } from "./classify-address.ts";
import { findMatch, normalizeHost } from "./match-host.ts";

export interface NetworkRules {
  readonly domains: readonly string[];
  readonly deniedDomains: readonly string[];
  readonly privateHosts: readonly string[];
}

/** `rule` names what decided, for people */
export interface ConnectionDecision {
  readonly allowed: boolean;
  readonly rule: string;
}

export function decideHost(rules: NetworkRules, host: string, port: number): ConnectionDecision {
  const denied = findMatch(host, port, rules.deniedDomains);
  if (denied !== undefined) return { allowed: false, rule: `deniedDomains: ${denied}` };
  const listed = findMatch(host, port, rules.domains);
  return listed === undefined
    ? { allowed: false, rule: `domains doesn't name ${normalizeHost(host)}:${port}` }
    : { allowed: true, rule: `domains: ${listed}` };
}

/** About an address that `host` was resolved to, or is. */
export function decideAddress(
  rules: NetworkRules,
  host: string,
  port: number,
  address: string,
): ConnectionDecision {
  const kind = classifyAddress(address);
  if (kind === "public") return { allowed: true, rule: "the address is public" };
  if (kind === undefined) return { allowed: false, rule: "that is no address" };
  const byName = findMatch(
    host,
    port,
    rules.privateHosts.filter((entry) => !entry.includes("/")),
  );
  if (byName !== undefined) return { allowed: true, rule: `privateHosts: ${byName}` };
  const isNet = isInNets(address, rules.privateHosts);
  return isNet
    ? { allowed: true, rule: "privateHosts names its net" }
    : { allowed: false, rule: `${address} is ${kind}, and privateHosts doesn't name it` };
}
