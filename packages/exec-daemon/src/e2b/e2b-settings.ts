/** The settings of the surface for E2B's SDKs; part of the daemon's one table. */
import { flagValue, portValue, setting, textValue } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";

export interface E2bConfig {
  readonly port: number;
  /** the name by which clients know the account that commands run as */
  readonly user: string;
  /** empty: it is chosen */
  readonly home: string;
}

/** the port that E2B's own daemon has, which their SDK knows */
const e2bPort = 49983;

export const e2bSettings = {
  e2bCompat: setting({
    names: ["SAND_E2B_COMPAT"],
    parse: flagValue,
    fallback: false,
    about: "on: E2B's SDKs can drive this daemon, on a loopback port of its own",
  }),
  e2bPort: setting({
    names: ["SAND_E2B_PORT"],
    parse: portValue,
    fallback: e2bPort,
    about: "port of the surface for E2B's SDKs; 0 is any",
  }),
  e2bUser: setting({
    names: ["SAND_E2B_USER"],
    parse: textValue,
    fallback: "user",
    about: "name by which E2B's SDKs know the account that commands run as",
  }),
  e2bHome: setting({
    names: ["SAND_E2B_HOME"],
    parse: textValue,
    fallback: "",
    about: "home that E2B's SDKs see; the account's, or in a sandbox the workspace, when not set",
  }),
} as const;

/**
 * Undefined when nobody asked for the surface. It answers pages of any origin, since a token is all that opens it; a
 * token that everybody knows would let each web page run commands here.
 */
export function readE2b(
  values: {
    readonly e2bCompat: boolean;
    readonly e2bPort: number;
    readonly e2bUser: string;
    readonly e2bHome: string;
  },
  token: string,
): E2bConfig | undefined {
  if (!values.e2bCompat) return undefined;
  if (token === "local") {
    throw new BoxError("config/invalid", "SAND_E2B_COMPAT needs a token of its own", {
      hint: "set SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE to a file with a random token",
    });
  }
  return { port: values.e2bPort, user: values.e2bUser, home: values.e2bHome };
}
