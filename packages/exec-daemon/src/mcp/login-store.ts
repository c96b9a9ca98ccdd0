/**
 * The logins at HTTP servers: registrations and tokens, one file for each server, 0600 in a folder of our own under the
 * data root, which no command can see. They leave here as the header of a request to that server, or to its
 * authorization server, and in no other way.
 *
 * A login belongs to a server's id and URL together: another URL under the same id finds none.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { writeFileAtomic } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";

export interface StoredLogin {
  readonly version: 1;
  readonly serverId: string;
  readonly url: string;
  readonly client?: OAuthClientInformationMixed;
  readonly tokens?: OAuthTokens;
  /** absent: the server didn't say */
  readonly expiresAtMs?: number;
  readonly discovery?: OAuthDiscoveryState;
}

export interface LoginStore {
  read(serverId: string, url: string): StoredLogin;
  write(login: StoredLogin): Promise<void>;
  /** False when there was none. */
  forget(serverId: string, url: string): boolean;
}

export function openLoginStore(folder: string): LoginStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });

  function pathOf(serverId: string, url: string): string {
    const name = createHash("sha256").update(`${serverId}\n${url}`).digest("hex").slice(0, 32);
    return join(folder, `${name}.json`);
  }

  function load(serverId: string, url: string): StoredLogin | undefined {
    try {
      // Written whole by ourselves; one that is damaged is no login, and the next one replaces it.
      return JSON.parse(readFileSync(pathOf(serverId, url), "utf8")) as StoredLogin;
    } catch {
      return undefined;
    }
  }

  return {
    read: (serverId, url) => load(serverId, url) ?? { version: 1, serverId, url },
    write: (login) => writeFileAtomic(pathOf(login.serverId, login.url), JSON.stringify(login)),
    forget(serverId, url) {
      const existed = load(serverId, url)?.tokens !== undefined;
      rmSync(pathOf(serverId, url), { force: true });
      return existed;
    },
  };
}

export function withTokens(
  login: StoredLogin,
  tokens: NonNullable<StoredLogin["tokens"]>,
  clock: Clock,
): StoredLogin {
  const { expiresAtMs: _, ...rest } = login;
  const endsInMs = tokens.expires_in === undefined ? undefined : tokens.expires_in * 1000;
  // An answer to a renewal may leave out what stays as it is.
  const whole = { ...(login.tokens ?? {}), ...tokens };
  return {
    ...rest,
    tokens: whole,
    ...(endsInMs === undefined ? {} : { expiresAtMs: clock.nowMs() + endsInMs }),
  };
}
