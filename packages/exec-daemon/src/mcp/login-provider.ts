/** What the SDK's authorization code flow needs of us: where things are kept and where the person is sent. */
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Clock } from "@sand/protocol";
import type { OAuthConfig } from "./http-config.ts";
import { type LoginStore, type StoredLogin, withTokens } from "./login-store.ts";

/** A login that a person is in the middle of. */
export interface PendingLogin {
  readonly redirectUrl: string;
  readonly state: string;
  readonly endsAtMs: number;
  verifier: string;
  authorizationUrl: string;
}

export interface LoginProviderDeps {
  readonly oauth: OAuthConfig;
  readonly store: LoginStore;
  readonly clock: Clock;
  readonly clientSecret: () => string;
  readonly read: () => StoredLogin;
  readonly pending: PendingLogin;
}

export function createLoginProvider(deps: LoginProviderDeps): OAuthClientProvider {
  const { oauth, store, clock, read, pending } = deps;
  const change = (part: Partial<StoredLogin>): Promise<void> => store.write({ ...read(), ...part });
  const configured = {
    client_id: oauth.clientId,
    ...(oauth.clientSecret === "" ? {} : { client_secret: deps.clientSecret() }),
  };
  return {
    redirectUrl: pending.redirectUrl,
    clientMetadata: {
      client_name: "Sand",
      redirect_uris: [pending.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: oauth.clientSecret === "" ? "none" : "client_secret_basic",
      ...(oauth.scope === "" ? {} : { scope: oauth.scope }),
    },
    state: () => pending.state,
    clientInformation: () => (oauth.clientId === "" ? read().client : configured),
    saveClientInformation: async (client) => {
      // The secret is kept by who set it, not here.
      const { client_secret: _, ...withoutSecret } = client;
      await change({ client: oauth.clientSecret === "" ? client : withoutSecret });
    },
    tokens: () => read().tokens,
    saveTokens: (tokens) => store.write(withTokens(read(), tokens, clock)),
    redirectToAuthorization: (url) => {
      pending.authorizationUrl = url.href;
    },
    saveCodeVerifier: (verifier) => {
      pending.verifier = verifier;
    },
    codeVerifier: () => pending.verifier,
    discoveryState: () => read().discovery,
    saveDiscoveryState: (discovery) => change({ discovery }),
    invalidateCredentials: async (scope) => {
      const { client, tokens, expiresAtMs, discovery, ...rest } = read();
      const all = scope === "all";
      await store.write({
        ...rest,
        ...(client === undefined || all || scope === "client" ? {} : { client }),
        ...(tokens === undefined || all || scope === "tokens" ? {} : { tokens }),
        ...(expiresAtMs === undefined || all || scope === "tokens" ? {} : { expiresAtMs }),
        ...(discovery === undefined || all || scope === "discovery" ? {} : { discovery }),
      });
    },
  };
}
