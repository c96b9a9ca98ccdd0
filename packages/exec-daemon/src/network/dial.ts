/**
 * Finds the address to dial for a command: the name must be listed, and of the addresses that it leads to right now
 * one must be allowed. That address is what is dialled, so a name that leads elsewhere a moment later changes nothing.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { decideAddress, decideHost, type NetworkRules } from "@sand/sandbox-policy";

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export type DialDecision =
  | { readonly kind: "dial"; readonly address: string; readonly rule: string }
  | { readonly kind: "refuse"; readonly rule: string }
  /** the name leads nowhere */
  | { readonly kind: "lost" };

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

export async function decideDial(
  rules: NetworkRules,
  resolve: Resolve,
  host: string,
  port: number,
): Promise<DialDecision> {
  const byName = decideHost(rules, host, port);
  if (!byName.allowed) return { kind: "refuse", rule: byName.rule };
  const addresses = isIP(host) === 0 ? await resolveOrNone(resolve, host) : [host];
  let refusal: string | undefined;
  for (const address of addresses) {
    const decision = decideAddress(rules, host, port, address);
    if (decision.allowed) return { kind: "dial", address, rule: byName.rule };
    refusal ??= decision.rule;
  }
  return refusal === undefined ? { kind: "lost" } : { kind: "refuse", rule: refusal };
}

async function resolveOrNone(resolve: Resolve, host: string): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch {
    // No such name, or nobody who could tell: there is nothing to dial either way.
    return [];
  }
}
