/**
 * The daemon's settings: one table, read once. Secrets are deleted from the environment after reading, so that nothing
 * that is started later inherits them.
 *
 * The token `local` is for a loopback bind where nothing was configured; on any other address it would be no token at
 * all, so the daemon refuses to start.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
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
import { type SandboxMode, sandboxModes } from "@sand/sandbox-policy";
import { type CommandUser, readCommandUser } from "./command-user.ts";
import { type E2bConfig, e2bSettings, readE2b } from "./e2b/e2b-settings.ts";
import { type KeeperMode, keeperModes } from "./keeper/keeper-mode.ts";

export interface DaemonConfig {
  readonly host: string;
  readonly rpcPort: number;
  readonly ptyPort: number;
  /** somebody asked for exactly that port */
  readonly isPtyPortFixed: boolean;
  readonly ptyAllowedOrigins: readonly string[];
  readonly token: string;
  /** where it was read from; absent: it came another way */
  readonly tokenFile: string | undefined;
  /** files that hold secrets; masked from commands and from the file operations */
  readonly secretFiles: readonly string[];
  readonly dataRoot: string;
  readonly workspaceRoot: string;
  /** where plugins are installed: in reach of commands, and theirs to read only */
  readonly pluginsRoot: string;
  /** where background commands can be read as files: in reach of commands, and theirs to read only */
  readonly terminalsRoot: string;
  readonly sandbox: SandboxMode;
  /** what keeps executions: the native shim, Node processes, or the better one that works */
  readonly keeper: KeeperMode;
  /** false: nothing is found again after a start. Exists so that a test can show what the ledger is for. */
  readonly ledger: boolean;
  readonly logLevel: string;
  readonly failpoint: string;
  /** whom commands and file operations run as; undefined is the daemon's own account */
  readonly commandUser: CommandUser | undefined;
  /** what commands start from */
  readonly commandEnv: Readonly<Record<string, string>>;
  /** undefined: the surface for E2B's SDKs isn't open */
  readonly e2b: E2bConfig | undefined;
  readonly warnings: readonly string[];
}

export const daemonSettings = {
  host: setting({
    names: ["BOX_EXEC_DAEMON_HOST"],
    parse: textValue,
    fallback: "127.0.0.1",
    about: "address to listen on",
  }),
  rpcPort: setting({
    names: ["SAND_BOX_EXEC_DAEMON_PORT", "BOX_EXEC_DAEMON_PORT", "EXEC_DAEMON_PORT"],
    parse: portValue,
    fallback: ports.execRpc,
    about: "port of the RPC service; 0 is any",
  }),
  ptyPort: setting<number | null>({
    names: ["SAND_BOX_PTY_PORT"],
    parse: portValue,
    fallback: null,
    about: "port of terminals; 0 is any, as when the RPC port is 0",
  }),
  ptyAllowedOrigins: setting({
    names: ["SAND_PTY_ALLOWED_ORIGINS"],
    parse: textValue,
    fallback: "",
    about: "origins of web pages that may open terminals, separated by commas",
  }),
  token: setting({
    names: ["SAND_BOX_EXEC_DAEMON_AUTH_TOKEN"],
    parse: textValue,
    fallback: "",
    secret: true,
    about: "bearer token",
  }),
  tokenFile: setting({
    names: ["SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE"],
    parse: textValue,
    fallback: "",
    about: "file with the bearer token, readable by its owner only",
  }),
  dataRoot: setting({
    names: ["SAND_DATA_ROOT"],
    parse: textValue,
    fallback: "",
    about: "where state is kept",
  }),
  workspaceRoot: setting({
    names: ["SAND_BOX_WORKSPACE_ROOT"],
    parse: textValue,
    fallback: "",
    about: "default folder of commands",
  }),
  pluginsRoot: setting({
    names: ["SAND_PLUGINS_ROOT"],
    parse: textValue,
    fallback: "",
    about: "where plugins are installed; beside the data root when not set",
  }),
  terminalsRoot: setting({
    names: ["SAND_BOX_TERMINALS_DIRECTORY"],
    parse: textValue,
    fallback: "",
    about: "where the output of background commands is kept as files; beside the data root when not set",
  }),
  sandbox: setting({
    names: ["SAND_SANDBOX"],
    parse: oneOf(sandboxModes),
    fallback: "auto" as SandboxMode,
    about: "required, auto or off",
  }),
  keeper: setting({
    names: ["SAND_KEEPER"],
    parse: oneOf(keeperModes),
    fallback: "auto" as KeeperMode,
    about: "what keeps executions: shim, node, or auto",
  }),
  commandUid: setting<number | null>({
    names: ["SAND_BOX_COMMAND_UID"],
    parse: integerBetween(1, 2 ** 31 - 1),
    fallback: null,
    about: "account that commands and file operations run as; the daemon's own when not set",
  }),
  ledger: setting({
    names: ["SAND_EXEC_LEDGER"],
    parse: flagValue,
    fallback: true,
    about: "off: executions are not found again",
  }),
  logLevel: setting({ names: ["SAND_LOG_LEVEL"], parse: textValue, fallback: "info", about: "pino level" }),
  failpoint: setting({
    names: ["SAND_FAILPOINT"],
    parse: textValue,
    fallback: "",
    about: "test builds only",
  }),
  ...e2bSettings,
} as const;

/** read by other programs that are started with the same environment */
const knownElsewhere = [
  ...["SAND_HOST_PORT", "SAND_GATEWAY_TOKEN", "SAND_GATEWAY_BIND_HOST", "SAND_USE_EXISTING_BOX_EXEC_DAEMON"],
  ...["SAND_DEV_INFERENCE_TOKEN_FILE", "SAND_BACKEND_URL", "SAND_SUPERVISOR_ENABLED", "SAND_BOX_AUTO_UPDATE"],
  ...["SAND_TREE_SITTER_NODE_DEPS", "SAND_BOX_FORK_ROUTER_PORT"],
  ...["SAND_BOX_STORE", "SAND_BOX_STORE_ENDPOINT", "SAND_BOX_STORE_REGION", "SAND_BOX_STORE_EVERY_MINUTES"],
  ...["SAND_BOX_STORE_KEEP", "SAND_BOX_STORE_ACCESS_KEY_ID", "SAND_BOX_STORE_SECRET_ACCESS_KEY"],
  ...["SAND_BOX_STORE_SESSION_TOKEN"],
  ...["SAND_BOX_PRIMARY_NOVNC_PORT", "SAND_BOX_FORK_NOVNC_PORT", "SAND_SECRETS_FD", "SAND_USER_DATA_DIR"],
];

/** what a command may inherit from us by name; everything else stays here */
const inheritedNames = ["PATH", "LANG", "LC_ALL", "TZ", "TERM", "HOME", "USER", "LOGNAME", "SHELL"] as const;

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const boxDataRoot = "/home/box/sand-data";
const loopbackHosts = ["127.0.0.1", "::1", "localhost"];

/** Reads the environment of this process, and removes the secrets from it. */
export function readDaemonConfig(): DaemonConfig {
  const config = parseDaemonConfig(process.env);
  wipeSecrets(daemonSettings, process.env);
  return config;
}

/** The place where a test build's keeper dies; the daemon hands it on for names that start with `keeper.`. */
export function readKeeperFailpoint(): string {
  return process.env.SAND_FAILPOINT ?? "";
}

export function parseDaemonConfig(env: Env): DaemonConfig {
  const { values, warnings } = parseEnv(daemonSettings, env, { knownElsewhere });
  const token = readToken(values.token, values.tokenFile, values.host);
  const secretFiles = [values.tokenFile, env.SAND_DEV_INFERENCE_TOKEN_FILE ?? ""].filter(
    (path) => path !== "",
  );
  const commandUser = values.commandUid === null ? undefined : readCommandUser(values.commandUid);
  const dataRoot = resolve(
    values.dataRoot || (existsSync(boxDataRoot) ? boxDataRoot : join(homedir(), ".sand")),
  );
  return Object.freeze({
    host: values.host,
    rpcPort: values.rpcPort,
    ptyPort: values.ptyPort ?? (values.rpcPort === 0 ? 0 : ports.execPty),
    isPtyPortFixed: values.ptyPort !== null,
    ptyAllowedOrigins: values.ptyAllowedOrigins.split(",").flatMap((origin) => origin.trim() || []),
    token,
    tokenFile: values.tokenFile === "" ? undefined : resolve(values.tokenFile),
    secretFiles: secretFiles.map((path) => resolve(path)),
    dataRoot,
    pluginsRoot: resolve(values.pluginsRoot || `${dataRoot}-plugins`),
    terminalsRoot: resolve(values.terminalsRoot || `${dataRoot}-terminals`),
    workspaceRoot: resolve(values.workspaceRoot || (existsSync("/workspace") ? "/workspace" : process.cwd())),
    sandbox: values.sandbox,
    keeper: values.keeper,
    ledger: values.ledger,
    logLevel: values.logLevel,
    failpoint: values.failpoint,
    commandUser,
    commandEnv: commandEnvOf(env, commandUser),
    e2b: readE2b(values, token),
    warnings,
  });
}

function readToken(given: string, file: string, host: string): string {
  const token = file === "" ? given : readTokenFile(file);
  if (token !== "" && token !== "local") return token;
  if (loopbackHosts.includes(host)) return "local";
  throw new BoxError("config/invalid", `listening on ${host} needs a token of its own`, {
    hint: "set SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE, or listen on 127.0.0.1",
  });
}

function readTokenFile(path: string): string {
  try {
    const others = statSync(path).mode & 0o077;
    if (others !== 0)
      throw new BoxError("config/invalid", `${path} may be read by others than its owner`, {
        hint: `chmod 600 ${path}`,
      });
    const token = readFileSync(path, "utf8").trim();
    if (token === "") throw new BoxError("config/invalid", `${path} holds no token`);
    return token;
  } catch (error) {
    if (error instanceof BoxError) throw error;
    throw new BoxError("config/invalid", `the token file ${path} can't be read`, { cause: error });
  }
}

function commandEnvOf(env: Env, account: CommandUser | undefined): Readonly<Record<string, string>> {
  const user = account === undefined ? userInfo() : { username: account.name, homedir: account.home };
  const base: Record<string, string> = {
    PATH: defaultPath,
    LANG: "C.UTF-8",
    TERM: "dumb",
    HOME: user.homedir,
    USER: user.username,
    LOGNAME: user.username,
    SHELL: "/bin/bash",
  };
  const ofAnotherAccount = account === undefined ? [] : ["HOME", "USER", "LOGNAME"];
  for (const name of inheritedNames) {
    if (ofAnotherAccount.includes(name)) continue;
    const value = env[name];
    if (value !== undefined && value !== "") base[name] = value;
  }
  return Object.freeze(base);
}
