/**
 * What `/init` may change while the surface runs: the access token, variables for every command, the default folder.
 * It lives as long as the daemon; after a restart what the daemon was configured with holds again, so a lost token
 * never leaves the surface open.
 */
import { createHash, timingSafeEqual } from "node:crypto";

export interface SurfaceSettings {
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | undefined;
  /** of the latest change that was taken, in `ms`; an older one is left out */
  readonly changedAtMs: number;
  hasToken(sent: string | undefined): boolean;
  /** what signatures of files are made with */
  readonly token: string;
  apply(change: SettingsChange): void;
}

export interface SettingsChange {
  readonly token?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly changedAtMs?: number;
}

/** what tells a program that it runs behind this surface */
const ownEnv = { E2B_SANDBOX: "true" } as const;

export function createSurfaceSettings(initialToken: string): SurfaceSettings {
  let token = initialToken;
  let env: Readonly<Record<string, string>> = ownEnv;
  let workdir: string | undefined;
  let changedAtMs = 0;
  return {
    get env() {
      return env;
    },
    get workdir() {
      return workdir;
    },
    get changedAtMs() {
      return changedAtMs;
    },
    get token() {
      return token;
    },
    hasToken: (sent) => equalTexts(sent ?? "", token) && sent !== undefined && token !== "",
    apply(change) {
      if (change.token !== undefined) token = change.token;
      if (change.env !== undefined) env = { ...env, ...change.env };
      if (change.workdir !== undefined) workdir = change.workdir;
      if (change.changedAtMs !== undefined) changedAtMs = change.changedAtMs;
    },
  };
}

/** Takes the same time whatever the texts are: digests have one length. */
export function equalTexts(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}
