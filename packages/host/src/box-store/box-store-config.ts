/** The settings of the box store, as rows of the host's table and as one object. */
import { type Env, type EnvValues, integerBetween, setting, textValue } from "@sand/node-kit";
import type { StoreAccess } from "@sand/store/box-store";
import { parseStoreAddress } from "./store-address.ts";

const text = (names: readonly [string, ...string[]], about: string) =>
  setting<string | null>({ names, parse: textValue, fallback: null, about });
const secret = (names: readonly [string, ...string[]], about: string) =>
  setting<string | null>({ names, parse: textValue, fallback: null, secret: true, about });

const minutesMax = 7 * 24 * 60;
const keepMax = 1_000;

export const boxStoreSettings = {
  boxStore: text(["SAND_BOX_STORE"], "where snapshots are kept: a folder, or s3://bucket/prefix"),
  boxStoreEndpoint: text(["SAND_BOX_STORE_ENDPOINT"], "URL of an S3-compatible server that isn't Amazon's"),
  boxStoreRegion: text(["SAND_BOX_STORE_REGION", "AWS_REGION"], "its region"),
  boxStoreKeyId: secret(
    ["SAND_BOX_STORE_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"],
    "key that may read and write there",
  ),
  boxStoreKey: secret(["SAND_BOX_STORE_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"], "secret of that key"),
  boxStoreSession: secret(
    ["SAND_BOX_STORE_SESSION_TOKEN", "AWS_SESSION_TOKEN"],
    "session of that key, if it has one",
  ),
  boxStoreMinutes: setting<number>({
    names: ["SAND_BOX_STORE_EVERY_MINUTES"],
    parse: integerBetween(0, minutesMax),
    fallback: 15,
    about: "minutes from one snapshot to the next; 0 takes them only when asked",
  }),
  boxStoreKeep: setting<number>({
    names: ["SAND_BOX_STORE_KEEP"],
    parse: integerBetween(1, keepMax),
    fallback: 48,
    about: "how many of the newest snapshots are kept, beside one for each of the last 30 days",
  }),
} as const;

export interface BoxStoreConfig {
  readonly access: StoreAccess;
  readonly everyMs: number;
  readonly keep: number;
  /** what the process that works on it inherits; holds no credential */
  readonly env: Readonly<Record<string, string>>;
}

const passedOn = [
  "PATH",
  "TMPDIR",
  "NODE_PATH",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "SAND_FAILPOINT",
];

/** `null` when no store is configured */
export function readBoxStoreConfig(
  values: EnvValues<typeof boxStoreSettings>,
  env: Env,
  workingFolder: string,
): BoxStoreConfig | null {
  if (values.boxStore === null) return null;
  // A wrong address is told at the start, not at the first snapshot.
  const parsed = parseStoreAddress(values.boxStore, workingFolder);
  const pairs = passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return {
    access: {
      address: parsed.kind === "directory" ? parsed.path : values.boxStore,
      s3: {
        endpoint: values.boxStoreEndpoint,
        region: values.boxStoreRegion,
        accessKeyId: values.boxStoreKeyId,
        secretAccessKey: values.boxStoreKey,
        sessionToken: values.boxStoreSession,
      },
    },
    everyMs: values.boxStoreMinutes * 60_000,
    keep: values.boxStoreKeep,
    env: Object.freeze(Object.fromEntries(pairs)),
  };
}
