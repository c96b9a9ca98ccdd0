/**
 * The one place where `sand` reads its environment.
 *
 * Credentials go a way of their own: they are taken out here, and reach the host through an inherited descriptor
 * (`SAND_SECRETS_FD`), because the environment that a process starts with stays readable in `/proc` for its whole
 * life. For the same reason the host gets only the variables that it needs, not the whole shell.
 */
import { type Env, integerBetween, parseEnv, portValue, setting, textValue } from "@sand/node-kit";
import { ports } from "@sand/protocol";

/** credentials that `sand up` hands over by descriptor */
export const secretNames = [
  "SAND_GATEWAY_TOKEN",
  "SAND_BOX_EXEC_DAEMON_AUTH_TOKEN",
  "SAND_INFERENCE_API_KEY",
  "OPENROUTER_API_KEY",
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "SAND_BOX_STORE_ACCESS_KEY_ID",
  "SAND_BOX_STORE_SECRET_ACCESS_KEY",
  "SAND_BOX_STORE_SESSION_TOKEN",
] as const;
export type SecretName = (typeof secretNames)[number];
export type Secrets = Readonly<Partial<Record<SecretName, string>>>;

const absent: string | undefined = undefined;
const text = (names: readonly [string, ...string[]], about: string) =>
  setting<string | undefined>({ names, parse: textValue, fallback: absent, about });

export const cliTable = {
  home: text(["HOME"], "where `~` is"),
  dataRoot: text(["SAND_DATA_ROOT"], "where agents and their history live"),
  workspace: text(["SAND_BOX_WORKSPACE_ROOT"], "the folder that agents work in"),
  port: setting({
    names: ["SAND_HOST_PORT"],
    parse: portValue,
    fallback: ports.gateway,
    about: "the gateway's port",
  }),
  gatewayUrl: text(["SAND_HOST_GATEWAY_URL"], "a gateway elsewhere, instead of the one under the data root"),
  gatewayToken: setting<string | undefined>({
    names: ["SAND_HOST_GATEWAY_TOKEN"],
    parse: textValue,
    fallback: absent,
    secret: true,
    about: "the token of that gateway",
  }),
  image: setting({
    names: ["SAND_IMAGE"],
    parse: textValue,
    fallback: "sand-box:local",
    about: "the image of the box",
  }),
  sandbox: text(["SAND_SANDBOX"], "required, auto or off"),
  provider: text(["SAND_INFERENCE_PROVIDER"], "which kind of model provider"),
  providerUrl: text(["SAND_INFERENCE_BASE_URL"], "where the provider answers"),
  model: text(["SAND_INFERENCE_MODEL"], "the model's name at the provider"),
  backendUrl: text(["SAND_BACKEND_URL"], "an inference backend with renewable tokens"),
  backendTokenFile: text(["SAND_DEV_INFERENCE_TOKEN_FILE"], "the file with that backend's token"),
  boxStore: text(["SAND_BOX_STORE"], "where snapshots are kept: a folder, or s3://bucket/prefix"),
  boxStoreEndpoint: text(["SAND_BOX_STORE_ENDPOINT"], "URL of an S3-compatible server that isn't Amazon's"),
  boxStoreRegion: text(["SAND_BOX_STORE_REGION", "AWS_REGION"], "its region"),
  boxStoreKeep: setting({
    names: ["SAND_BOX_STORE_KEEP"],
    parse: integerBetween(1, 1_000),
    fallback: 48,
    about: "how many of the newest snapshots are kept",
  }),
  noColor: text(["NO_COLOR"], "print without colour"),
} as const;

/** what a host and its daemon need of a shell's environment, beside their own settings */
const passedOn =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|TERM|NODE_PATH|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|XDG_CACHE_HOME|AWS_REGION|DOCKER_(?:HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY)|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy)$/u;
const ownSetting = /^(?:SAND|BOX_EXEC_DAEMON|EXEC_DAEMON|EGRESS_TUNNEL)_/u;
const onlyForThisProgram: ReadonlySet<string> = new Set([
  "SAND_HOST_GATEWAY_URL",
  "SAND_HOST_GATEWAY_TOKEN",
  "SAND_SECRETS_FD",
]);

export interface CliConfig {
  readonly home: string | undefined;
  readonly dataRoot: string | undefined;
  readonly workspace: string | undefined;
  readonly port: number;
  readonly gatewayUrl: string | undefined;
  readonly gatewayToken: string | undefined;
  readonly image: string;
  readonly sandbox: string | undefined;
  readonly provider: string | undefined;
  readonly providerUrl: string | undefined;
  readonly model: string | undefined;
  readonly backendUrl: string | undefined;
  readonly backendTokenFile: string | undefined;
  readonly boxStore: string | undefined;
  readonly boxStoreEndpoint: string | undefined;
  readonly boxStoreRegion: string | undefined;
  readonly boxStoreKeep: number;
  readonly noColor: boolean;
  readonly secrets: Secrets;
  /** for a box store that a command names */
  readonly storeKeys: Secrets;
  /** the environment for processes that we start; holds no credential */
  readonly childEnvironment: Readonly<Record<string, string>>;
}

export function parseConfig(env: Env): CliConfig {
  const { values } = parseEnv(cliTable, env);
  return Object.freeze({
    ...values,
    noColor: values.noColor !== undefined,
    secrets: Object.freeze(pickSecrets(env)),
    storeKeys: Object.freeze(pickStoreKeys(env)),
    childEnvironment: Object.freeze(pickChildEnvironment(env)),
  });
}

export function readConfig(): CliConfig {
  return parseConfig(process.env);
}

/** where the usual tools for S3 look; taken for the box store alone, and only when one is asked for */
const storeKeyNames = {
  SAND_BOX_STORE_ACCESS_KEY_ID: "AWS_ACCESS_KEY_ID",
  SAND_BOX_STORE_SECRET_ACCESS_KEY: "AWS_SECRET_ACCESS_KEY",
  SAND_BOX_STORE_SESSION_TOKEN: "AWS_SESSION_TOKEN",
} as const satisfies Partial<Record<SecretName, string>>;

/** The keys for S3: ours, else all of the usual ones. A key of one kind never goes with a secret of the other. */
function pickStoreKeys(env: Env): Secrets {
  const ours = env.SAND_BOX_STORE_ACCESS_KEY_ID ?? "";
  const keys: Partial<Record<SecretName, string>> = {};
  for (const name of [
    "SAND_BOX_STORE_ACCESS_KEY_ID",
    "SAND_BOX_STORE_SECRET_ACCESS_KEY",
    "SAND_BOX_STORE_SESSION_TOKEN",
  ] as const) {
    const value = env[ours === "" ? storeKeyNames[name] : name];
    if (value !== undefined && value !== "") keys[name] = value;
  }
  return keys;
}

function pickSecrets(env: Env): Partial<Record<SecretName, string>> {
  const secrets: Partial<Record<SecretName, string>> = {};
  for (const name of secretNames) {
    const value = env[name];
    if (value !== undefined && value !== "") secrets[name] = value;
  }
  if ((env.SAND_BOX_STORE ?? "").startsWith("s3:")) Object.assign(secrets, pickStoreKeys(env));
  return secrets;
}

function pickChildEnvironment(env: Env): Record<string, string> {
  const secret: ReadonlySet<string> = new Set(secretNames);
  const picked: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || secret.has(name) || onlyForThisProgram.has(name)) continue;
    if (passedOn.test(name) || ownSetting.test(name)) picked[name] = value;
  }
  return picked;
}
