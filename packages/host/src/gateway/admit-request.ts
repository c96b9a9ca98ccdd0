/**
 * Who may speak to the gateway. A pure decision, made before a byte of the body is read.
 *
 * A browser's page can reach a loopback port, so everything that carries an `Origin` is refused, health too. With no
 * token configured the `Host` must be a loopback name, because a page could otherwise rebind its own name to us.
 * Health answers without a bearer and with a wrong one: it is how a connector finds out that we are up.
 */
import { bearerMatches } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";

export interface RequestFacts {
  readonly path: string;
  readonly method: string;
  readonly origin: string | undefined;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
}

/** the text is the contract's: clients look for it */
export const browserOriginText = "browser-origin gateway requests are not allowed";

/** Returns why a request is refused, or `undefined`. */
export function decideAdmission(facts: RequestFacts, token: string | null): BoxError | undefined {
  if (facts.origin !== undefined) return new BoxError("gateway/browser-origin", browserOriginText);
  if (token === null || token === "") {
    return isLoopbackName(facts.host)
      ? undefined
      : new BoxError("gateway/untrusted-host", "untrusted gateway host");
  }
  if (facts.method === "GET" && facts.path === "/health") return undefined;
  return bearerMatches(facts.authorization, token)
    ? undefined
    : new BoxError("gateway/unauthorized", "unauthorized");
}

const hostPattern = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/u;
const loopbackV4Pattern = /^127(?:\.\d{1,3}){3}$/u;

function isLoopbackName(host: string | undefined): boolean {
  const name = hostPattern.exec((host ?? "").toLowerCase())?.[1];
  if (name === undefined) return false;
  return name === "localhost" || name === "[::1]" || loopbackV4Pattern.test(name);
}
