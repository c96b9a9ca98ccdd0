/**
 * The login at one HTTP server: the authorization code flow in two halves for a person, and the renewal of tokens
 * without one.
 *
 * 1. A refresh token is used by one request at a time: many servers take each only once, and a second use of the same
 *    would end the login.
 * 2. A renewal that fails because the authorization server can't be reached keeps the login; one that is refused drops
 *    the tokens, and a person has to log in again.
 */
import { timingSafeEqual } from "node:crypto";
import { createSingleFlight } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { Fetch } from "./bounded-fetch.ts";
import type { OAuthConfig } from "./http-config.ts";
import { createLoginProvider, type PendingLogin } from "./login-provider.ts";
import { type LoginStore, type StoredLogin, withTokens } from "./login-store.ts";
import { mcpLimits } from "./mcp-limits.ts";

export interface ServerLogin {
  /** The header's value; undefined when there is no login. Renews a token that is about to end. */
  authorization(): Promise<string | undefined>;
  /** A new header's value after the server refused the old one. Throws `mcp/login-needed`. */
  renew(refused: string | undefined): Promise<string>;
  /** Where to send the person; empty when the stored login could be renewed. */
  begin(redirectUrl: string): Promise<string>;
  finish(code: string, state: string): Promise<void>;
  forget(): boolean;
  /** Remembers where the server said that its login is described. */
  noteMetadata(url: URL | undefined): void;
}

export interface ServerLoginDeps {
  readonly serverId: string;
  readonly url: string;
  readonly oauth: OAuthConfig;
  readonly store: LoginStore;
  readonly clock: Clock;
  /** made by `createLoginFetch` */
  readonly fetch: Fetch;
  /** the value of the configured client secret */
  readonly clientSecret: () => string;
}

export function createServerLogin(deps: ServerLoginDeps): ServerLogin {
  const { serverId, url, store, clock } = deps;
  const renewOnce = createSingleFlight<string>();
  let pending: PendingLogin | undefined;
  let metadataUrl: URL | undefined;

  const read = (): StoredLogin => store.read(serverId, url);

  async function renewNow(): Promise<string> {
    const { refreshAuthorization } = await import("@modelcontextprotocol/sdk/client/auth.js");
    const { OAuthError, ServerError } = await import("@modelcontextprotocol/sdk/server/auth/errors.js");
    const login = read();
    const refreshToken = login.tokens?.refresh_token;
    if (refreshToken === undefined || login.discovery === undefined || login.client === undefined)
      throw loginNeeded(serverId);
    const {
      authorizationServerUrl,
      authorizationServerMetadata: metadata,
      resourceMetadata,
    } = login.discovery;
    try {
      const tokens = await refreshAuthorization(authorizationServerUrl, {
        clientInformation: withSecret(login.client, deps),
        refreshToken,
        fetchFn: deps.fetch,
        ...(metadata === undefined ? {} : { metadata }),
        ...(resourceMetadata === undefined ? {} : { resource: resourceMetadata.resource }),
      });
      await store.write(withTokens(login, tokens, clock));
      return `Bearer ${tokens.access_token}`;
    } catch (error) {
      if (!(error instanceof OAuthError) || error instanceof ServerError)
        throw new BoxError(
          "mcp/unavailable",
          "the login can't be renewed now: the authorization server fails",
          {
            cause: error,
          },
        );
      const { tokens: _, expiresAtMs: __, ...rest } = login;
      await store.write(rest);
      throw loginNeeded(serverId, error);
    }
  }

  async function run(login: PendingLogin, code?: string): Promise<void> {
    const { auth } = await import("@modelcontextprotocol/sdk/client/auth.js");
    const provider = createLoginProvider({ ...deps, read, pending: login });
    const work = auth(provider, {
      serverUrl: url,
      fetchFn: deps.fetch,
      ...(code === undefined ? {} : { authorizationCode: code }),
      ...(deps.oauth.scope === "" ? {} : { scope: deps.oauth.scope }),
      ...(metadataUrl === undefined ? {} : { resourceMetadataUrl: metadataUrl }),
    });
    await work.catch(failLogin);
  }

  return {
    async authorization() {
      const { tokens, expiresAtMs } = read();
      if (tokens === undefined) return undefined;
      const ends = expiresAtMs !== undefined && expiresAtMs - mcpLimits.tokenLeewayMs < clock.nowMs();
      if (ends && tokens.refresh_token !== undefined) return await renewOnce("", renewNow);
      return `Bearer ${tokens.access_token}`;
    },
    async renew(refused) {
      const current = read().tokens?.access_token;
      // Somebody else has renewed it since.
      if (current !== undefined && refused !== undefined && `Bearer ${current}` !== refused)
        return `Bearer ${current}`;
      return await renewOnce("", renewNow);
    },
    async begin(redirectUrl) {
      const login: PendingLogin = {
        redirectUrl,
        state: crypto.randomUUID(),
        endsAtMs: clock.nowMs() + mcpLimits.loginPendingMs,
        verifier: "",
        authorizationUrl: "",
      };
      await run(login);
      pending = login;
      return login.authorizationUrl;
    },
    async finish(code, state) {
      if (pending === undefined || pending.endsAtMs < clock.nowMs() || !isSame(pending.state, state))
        throw new BoxError("exec/invalid", "no such login was begun, or it is too long ago", {
          hint: "begin it again: BeginLogin",
        });
      const login = pending;
      pending = undefined;
      await run(login, code);
    },
    forget() {
      pending = undefined;
      return store.forget(serverId, url);
    },
    noteMetadata(found) {
      metadataUrl = found ?? metadataUrl;
    },
  };
}

function withSecret<T extends object>(client: T, deps: ServerLoginDeps): T {
  return deps.oauth.clientSecret === "" ? client : { ...client, client_secret: deps.clientSecret() };
}

/** In words of ours: what an authorization server answers may repeat what it was sent. */
async function failLogin(error: unknown): Promise<never> {
  if (error instanceof BoxError) throw error;
  const { OAuthError } = await import("@modelcontextprotocol/sdk/server/auth/errors.js");
  if (error instanceof OAuthError)
    throw new BoxError("mcp/refused", "the authorization server refused the login", { cause: error });
  throw new BoxError(
    "mcp/unavailable",
    "the login failed: its servers can't be asked, or don't describe it",
    {
      cause: error,
      hint: "is the URL right, and does the server have a login?",
    },
  );
}

function loginNeeded(serverId: string, cause?: unknown): BoxError {
  return new BoxError("mcp/login-needed", `the MCP server ${serverId} wants a login`, {
    cause,
    hint: "BeginLogin says where to send the person",
  });
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
