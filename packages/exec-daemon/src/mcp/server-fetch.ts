/**
 * How the daemon speaks to one HTTP server: with its configured headers, and its login where it has one. Nothing of that
 * is sent to another origin, whatever the server answers.
 */
import { BoxError } from "@sand/protocol";
import type { Fetch } from "./bounded-fetch.ts";
import type { ServerLogin } from "./server-login.ts";

export interface ServerFetchDeps {
  readonly serverId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly login: ServerLogin | undefined;
  readonly inner: Fetch;
}

const unauthorized = 401;

export function createServerFetch(deps: ServerFetchDeps): Fetch {
  const { origin } = new URL(deps.url);

  function send(
    input: string | URL | Request,
    init: RequestInit | undefined,
    authorization: string | undefined,
  ) {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(deps.headers)) headers.set(name, value);
    if (authorization !== undefined) headers.set("authorization", authorization);
    return deps.inner(input, { ...init, headers });
  }

  return async (input, init) => {
    if (new URL(input instanceof Request ? input.url : input).origin !== origin)
      throw new BoxError("mcp/refused", "the server sent us to another origin");
    const authorization = await deps.login?.authorization();
    const response = await send(input, init, authorization);
    if (response.status !== unauthorized) return response;
    const described = await readMetadataUrl(response);
    await response.body?.cancel();
    if (deps.login === undefined)
      throw new BoxError("mcp/login-needed", `the MCP server ${deps.serverId} refuses us`, {
        hint: "give it a header with a secret, or oauth",
      });
    deps.login.noteMetadata(described);
    return await send(input, init, await deps.login.renew(authorization));
  };
}

async function readMetadataUrl(response: Response): Promise<URL | undefined> {
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
  return extractWWWAuthenticateParams(response).resourceMetadataUrl;
}
