/**
 * The host's settings, read once. The only file of the host that looks at the environment.
 *
 * Secrets come from the environment or, so that they never stand in `/proc/<pid>/environ`, as one JSON object from
 * the inherited descriptor that `SAND_SECRETS_FD` names. Either way children inherit none of them.
 */
import { closeSync, existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import {
  type Env,
  flagValue,
  integerBetween,
  oneOf,
  parseEnv,
  portValue,
  setting,
  textValue,
  wipeSecrets,
} from "@sand/node-kit";
import { BoxError, ports } from "@sand/protocol";
import { type BoxStoreConfig, boxStoreSettings, readBoxStoreConfig } from "./box-store/box-store-config.ts";
import { chooseModel, type ModelChoice } from "./choose-model.ts";

const optionalText = (names: readonly [string, ...string[]], about: string) =>
  setting<string | null>({ names, parse: textValue, fallback: null, about });
const secretText = (name: string, about: string) =>
  setting<string | null>({ names: [name], parse: textValue, fallback: null, secret: true, about });

export const hostSettings = {
  dataRoot: optionalText(["SAND_DATA_ROOT"], "where everything durable lies"),
  userDataDir: optionalText(
    ["SAND_USER_DATA_DIR"],
    "its folder `sand-data` is the data root when SAND_DATA_ROOT is not set",
  ),
  workspaceRoot: optionalText(["SAND_BOX_WORKSPACE_ROOT"], "default folder of commands"),
  gatewayPort: setting<number>({
    names: ["SAND_HOST_PORT"],
    parse: portValue,
    fallback: ports.gateway,
    about: "port of the gateway; 0 is any",
  }),
  gatewayBindHost: setting<string>({
    names: ["SAND_GATEWAY_BIND_HOST"],
    parse: textValue,
    fallback: "127.0.0.1",
    about: "address of the gateway",
  }),
  gatewayToken: secretText("SAND_GATEWAY_TOKEN", "bearer of the gateway"),
  tlsCert: optionalText(["SAND_GATEWAY_TLS_CERT"], "PEM file of the gateway's certificate"),
  tlsKey: optionalText(["SAND_GATEWAY_TLS_KEY"], "PEM file of its key"),
  sseGzipOff: setting<boolean>({
    names: ["SAND_DISABLE_GATEWAY_SSE_GZIP"],
    parse: flagValue,
    fallback: false,
    about: "1 switches compression of event streams off",
  }),
  execHost: setting<string>({
    names: ["BOX_EXEC_DAEMON_HOST"],
    parse: textValue,
    fallback: "127.0.0.1",
    about: "address of the exec-daemon",
  }),
  execPort: setting<number>({
    names: ["SAND_BOX_EXEC_DAEMON_PORT", "BOX_EXEC_DAEMON_PORT", "EXEC_DAEMON_PORT"],
    parse: portValue,
    fallback: ports.execRpc,
    about: "RPC port of the exec-daemon; 0 is any",
  }),
  execToken: secretText("SAND_BOX_EXEC_DAEMON_AUTH_TOKEN", "bearer of the exec-daemon"),
  useExistingDaemon: setting<boolean>({
    names: ["SAND_USE_EXISTING_BOX_EXEC_DAEMON"],
    parse: flagValue,
    fallback: false,
    about: "1: never start a daemon",
  }),
  sandbox: setting<"required" | "auto" | "off">({
    names: ["SAND_SANDBOX"],
    parse: oneOf(["required", "auto", "off"]),
    fallback: "auto",
    about: "whether commands must be sandboxed",
  }),
  inferenceProvider: optionalText(["SAND_INFERENCE_PROVIDER"], "offline, openai-compatible or anthropic"),
  inferenceBaseUrl: optionalText(["SAND_INFERENCE_BASE_URL"], "base URL of the provider, with its version"),
  inferenceApiKey: secretText("SAND_INFERENCE_API_KEY", "key of the provider"),
  inferenceModel: optionalText(["SAND_INFERENCE_MODEL"], "name of the model"),
  backendUrl: optionalText(["SAND_BACKEND_URL"], "inference broker"),
  inferenceTokenFile: optionalText(["SAND_DEV_INFERENCE_TOKEN_FILE"], "token file of the inference broker"),
  openRouterKey: secretText("OPENROUTER_API_KEY", "used when no SAND_INFERENCE_* is set"),
  anthropicKey: secretText("ANTHROPIC_API_KEY", "used when no SAND_INFERENCE_* is set"),
  openAiKey: secretText("OPENAI_API_KEY", "used when no SAND_INFERENCE_* is set"),
  windowTokens: setting<number>({
    names: ["SAND_CONTEXT_TOKENS"],
    parse: integerBetween(1_000, 10_000_000),
    fallback: 100_000,
    about: "tokens of history in a request, an estimate",
  }),
  logLevel: setting<string>({
    names: ["SAND_LOG_LEVEL"],
    parse: oneOf(["trace", "debug", "info", "warn", "error", "silent"]),
    fallback: "info",
    about: "what is logged",
  }),
  ...boxStoreSettings,
  failpoint: optionalText(["SAND_FAILPOINT"], "test builds only: where to die"),
} as const;

/** read by the daemon, the supervisor or the CLI from the same environment */
const knownElsewhere = [
  "SAND_SECRETS_FD",
  "SAND_BOX_PTY_PORT",
  "SAND_PTY_ALLOWED_ORIGINS",
  "SAND_BOX_FORK_ROUTER_PORT",
  "SAND_BOX_PRIMARY_NOVNC_PORT",
  "SAND_BOX_FORK_NOVNC_PORT",
  "SAND_BOX_TERMINALS_DIRECTORY",
  "SAND_PLUGINS_ROOT",
  "SAND_KEEPER",
  "SAND_E2B_COMPAT",
  "SAND_E2B_HOME",
  "SAND_E2B_PORT",
  "SAND_E2B_USER",
  "SAND_BOX_AUTO_UPDATE",
  "SAND_SUPERVISOR_ENABLED",
  "SAND_TREE_SITTER_NODE_DEPS",
  "SAND_DISABLE_SEND_ACCEPT_RETURN",
  "SAND_EGRESS_TUNNEL_ENABLED",
  "SAND_HOST_GATEWAY_URL",
  "SAND_HOST_GATEWAY_TOKEN",
  "SAND_HOST_GATEWAY_NETWORK_TOKEN",
  "SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE",
  "SAND_EXEC_LEDGER",
  "SAND_IMAGE",
  "SAND_DEMO",
  "SAND_TEST_REQUIRE",
] as const;

export interface HostConfig {
  readonly dataRoot: string;
  readonly workspaceRoot: string;
  readonly gateway: {
    readonly port: number;
    readonly bindHost: string;
    readonly token: string | null;
    readonly tls: { readonly cert: string; readonly key: string } | null;
    readonly sseGzip: boolean;
  };
  readonly exec: {
    readonly host: string;
    readonly port: number;
    readonly token: string | null;
    readonly useExisting: boolean;
    readonly sandbox: "required" | "auto" | "off";
    /** what a daemon that this host starts inherits */
    readonly env: Readonly<Record<string, string>>;
  };
  readonly model: ModelChoice;
  readonly boxStore: BoxStoreConfig | null;
  readonly windowTokensMax: number;
  readonly logLevel: string;
  readonly failpoint: string | null;
  readonly warnings: readonly string[];
}

/** The settings of this process, whose environment loses its secrets. */
export function readHostConfig(): HostConfig {
  return readConfig(process.env, process.cwd());
}

/** Where the role `box-store` of a test build is to die. */
export function readRoleFailpoint(): string | undefined {
  return process.env.SAND_FAILPOINT;
}

/** `env` loses its secrets, so that no child inherits them. */
export function readConfig(env: Record<string, string | undefined>, workingFolder: string): HostConfig {
  const withSecrets = { ...env, ...readSecrets(env) };
  const { values, warnings } = parseEnv(hostSettings, withSecrets, { knownElsewhere });
  wipeSecrets(hostSettings, env);
  delete env.SAND_SECRETS_FD;
  return {
    dataRoot: values.dataRoot ?? defaultDataRoot(values.userDataDir),
    workspaceRoot: values.workspaceRoot ?? (existsSync("/workspace") ? "/workspace" : workingFolder),
    gateway: {
      port: values.gatewayPort,
      bindHost: values.gatewayBindHost,
      token: values.gatewayToken,
      tls: readTls(values.tlsCert, values.tlsKey),
      sseGzip: !values.sseGzipOff,
    },
    exec: {
      host: values.execHost,
      port: values.execPort,
      token: values.execToken,
      useExisting: values.useExistingDaemon,
      sandbox: values.sandbox,
      env: pickDaemonEnv(env),
    },
    model: chooseModel(values),
    boxStore: readBoxStoreConfig(values, env, workingFolder),
    windowTokensMax: values.windowTokens,
    logLevel: values.logLevel,
    failpoint: values.failpoint,
    warnings,
  };
}

const daemonNames = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "NODE_PATH", "NODE_COMPILE_CACHE"],
  ...["SAND_LOG_LEVEL", "SAND_EXEC_LEDGER", "SAND_DEV_INFERENCE_TOKEN_FILE"],
  ...["SAND_E2B_COMPAT", "SAND_E2B_HOME", "SAND_E2B_PORT", "SAND_E2B_USER"],
  ...["SAND_BOX_PTY_PORT", "SAND_PTY_ALLOWED_ORIGINS", "SAND_KEEPER"],
  ...["SAND_BOX_TERMINALS_DIRECTORY", "SAND_PLUGINS_ROOT"],
];

/** By name, so that nothing of ours that is secret can be among it. */
function pickDaemonEnv(env: Env): Readonly<Record<string, string>> {
  const pairs = daemonNames.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return Object.freeze(Object.fromEntries(pairs));
}

function defaultDataRoot(userDataDir: string | null): string {
  if (userDataDir !== null) return join(userDataDir, "sand-data");
  return existsSync("/home/box/sand-data") ? "/home/box/sand-data" : join(homedir(), ".sand");
}

function readSecrets(env: Env): Record<string, string> {
  const descriptor = env.SAND_SECRETS_FD;
  if (descriptor === undefined || descriptor === "") return {};
  try {
    const text = readFileSync(Number(descriptor), "utf8");
    closeSync(Number(descriptor));
    const value: unknown = JSON.parse(text);
    const pairs = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
  } catch {
    // The cause would quote what it could not parse, which is secret.
    throw new BoxError(
      "config/invalid",
      "SAND_SECRETS_FD does not name a readable descriptor with a JSON object",
    );
  }
}

function readTls(
  certPath: string | null,
  keyPath: string | null,
): { readonly cert: string; readonly key: string } | null {
  if (certPath === null && keyPath === null) return null;
  if (certPath === null || keyPath === null) {
    throw new BoxError("config/invalid", "SAND_GATEWAY_TLS_CERT and SAND_GATEWAY_TLS_KEY go together", {
      hint: "set both or none",
    });
  }
  try {
    const tls = { cert: readFileSync(certPath, "utf8"), key: readFileSync(keyPath, "utf8") };
    // Refuses what is no PEM and a key of another certificate now, not at the first connection.
    createSecureContext(tls);
    return tls;
  } catch (cause) {
    throw new BoxError("config/invalid", "the gateway's certificate and key can't be used", {
      cause,
      hint: "SAND_GATEWAY_TLS_CERT and SAND_GATEWAY_TLS_KEY name readable PEM files that belong together",
    });
  }
}
