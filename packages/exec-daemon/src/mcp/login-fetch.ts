/**
 * How the daemon speaks to authorization servers: bounded in time and size, and only where a token may go. The addresses
 * come from the MCP server itself, so one that names an unencrypted place or this machine isn't followed, unless the
 * MCP server is on this machine too.
 */
import { BoxError } from "@sand/protocol";
import { createBoundedFetch, type Fetch } from "./bounded-fetch.ts";
import { isLoopback } from "./http-config.ts";
import { mcpLimits } from "./mcp-limits.ts";

export function createLoginFetch(serverUrl: string, inner: Fetch): Fetch {
  const mayStayHere = isLoopback(new URL(serverUrl));
  const bounded = createBoundedFetch({
    inner,
    messageMaxBytes: mcpLimits.loginAnswerMaxBytes,
    onBroken: () => undefined,
  });
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const isHere = isLoopback(url);
    if (isHere ? !mayStayHere : url.protocol !== "https:")
      throw new BoxError("mcp/refused", `a login at ${url.origin} isn't safe`, {
        hint: "an authorization server is asked over https only",
      });
    const deadline = AbortSignal.timeout(mcpLimits.loginRequestMaxMs);
    const signals =
      init?.signal === null || init?.signal === undefined ? [deadline] : [deadline, init.signal];
    return await bounded(input, { ...init, signal: AbortSignal.any(signals) });
  };
}
