/**
 * POST /init: an orchestrator's wishes for all that follows. Who asks has shown the token that holds now, or the
 * daemon's own bearer; a message that is older than the last one that was taken changes nothing.
 */
import { checkUser } from "../choose-user.ts";
import { limits } from "../limits.ts";
import { resolvePath } from "../resolve-path.ts";
import { invalid } from "../surface-error.ts";
import type { SurfaceAccount } from "../surface-ports.ts";
import type { SettingsChange, SurfaceSettings } from "../surface-settings.ts";
import { type JsonObject, textField } from "./read-json.ts";

export interface InitDeps {
  readonly account: SurfaceAccount;
  readonly settings: SurfaceSettings;
  /** Makes certificates known to commands; answers with the variables that say where they are. */
  readonly trust: (pem: string) => Promise<Readonly<Record<string, string>>>;
}

export async function applyInit(deps: InitDeps, body: JsonObject): Promise<void> {
  const { account, settings } = deps;
  const changedAtMs = parseTimestamp(textField(body, "timestamp"));
  if (changedAtMs !== undefined && changedAtMs < settings.changedAtMs) return;
  const token = textField(body, "accessToken");
  if (
    token !== undefined &&
    (token === "" || token.length > limits.tokenMaxChars || /[^\x21-\x7e]/u.test(token))
  )
    throw invalid("an access token is printable ASCII without spaces");
  checkUser(account, textField(body, "defaultUser"));
  const workdir = textField(body, "defaultWorkdir");
  const env = parseEnv(body.envVars);
  const pem = textField(body, "caBundle");
  const change: SettingsChange = {
    ...(token === undefined ? {} : { token }),
    ...(workdir === undefined || workdir === "" ? {} : { workdir: resolvePath(workdir, account.home) }),
    ...(changedAtMs === undefined ? {} : { changedAtMs }),
    env: { ...(pem === undefined || pem === "" ? {} : await deps.trust(pem)), ...env },
  };
  settings.apply(change);
}

function parseTimestamp(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const atMs = Date.parse(text);
  if (!Number.isFinite(atMs)) throw invalid("the timestamp is no time");
  return atMs;
}

function parseEnv(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw invalid("envVars is no object");
  const entries = Object.entries(value);
  if (entries.length > limits.globalEnvMax) throw invalid("there are too many variables");
  const isText = entries.every(
    ([name, text]) =>
      typeof text === "string" && !text.includes("\0") && /^[A-Za-z_][A-Za-z0-9_]*$/u.test(name),
  );
  if (!isText) throw invalid("a variable has a name that a shell can use, and a text");
  if (JSON.stringify(value).length > limits.globalEnvMaxBytes) throw invalid("the variables are too large");
  return Object.fromEntries(entries as readonly (readonly [string, string])[]);
}
