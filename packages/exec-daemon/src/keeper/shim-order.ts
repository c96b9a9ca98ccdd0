/**
 * Writes an execution as an order for the native shim: a magic word, a length, and pairs of key and value, each ended
 * by a zero byte. `native/order.c` reads it and refuses a key that it doesn't know. The shim gets every bound with the
 * order, so that `limits.ts` stays their only home.
 */
import { BoxError } from "@sand/protocol";
import { undoRunAsUser } from "../command-user.ts";
import type { LaunchPlan } from "../ledger/records.ts";
import { limits } from "../limits.ts";

const magic = "SNDORD01";
/** as in `native/shim.h` */
const orderMaxBytes = 4 * 1024 * 1024;

const bounds = {
  segmentMaxBytes: limits.segmentMaxBytes,
  tailSegmentsMax: limits.tailSegmentsMax,
  killGraceMs: limits.killGraceMs,
  settleMaxMs: limits.settleMaxMs,
  drainMaxMs: limits.drainMaxMs,
  recordRetryEveryMs: limits.recordRetryEveryMs,
  recordRetryMaxMs: limits.recordRetryMaxMs,
  leftOpenMaxMs: limits.leftOpenMaxMs,
  folderLookEveryMs: limits.folderLookEveryMs,
  endSyncIdleMs: limits.endSyncIdleMs,
  endSyncMaxMs: limits.endSyncMaxMs,
  pinMaxMs: limits.pinMaxMs,
  infoMaxMs: limits.startMaxMs,
} as const;

type Field = readonly [key: string, value: string];

/** What the folder's intent asks for, started in `cgroup` where one is given. */
export function encodeShimOrder(folder: string, launch: LaunchPlan, cgroup: string | undefined): Buffer {
  const fields: readonly Field[] = [
    ["folder", folder],
    ...programFields(launch),
    ...(launch.openFiles ?? []).map((path): Field => ["openFile", path]),
    ...(launch.saveFile === undefined ? [] : [["saveFile", launch.saveFile] as const]),
    ["stdin", launch.stdin ? "1" : "0"],
    ["sandboxed", launch.sandboxed ? "1" : "0"],
    ["killMs", String(Math.trunc(launch.killMs))],
    ...terminalFields(launch),
    ...hardeningFields(launch),
    ...(cgroup === undefined ? [] : [["cgroup", cgroup] as const]),
    ...Object.entries(bounds).map(([key, value]): Field => [key, String(value)]),
  ];
  for (const [, value] of fields) refuseZero(value);
  const body = Buffer.from(fields.map(([key, value]) => `${key}\0${value}\0`).join(""));
  if (body.length > orderMaxBytes)
    throw new BoxError("exec/invalid", "the command is too large to be started");
  const header = Buffer.alloc(magic.length + 4);
  header.write(magic, "latin1");
  header.writeUInt32BE(body.length, magic.length);
  return Buffer.concat([header, body]);
}

/** The shim becomes the account by itself, where a Node keeper needs two programs for it. */
function programFields(launch: LaunchPlan): readonly Field[] {
  const { user } = launch;
  const { argv, env, cwd } = user === undefined ? launch : undoRunAsUser(user, launch);
  const account: readonly Field[] =
    user === undefined
      ? []
      : [
          ["uid", String(user.uid)],
          ["gid", String(user.gid)],
        ];
  return [
    ["cwd", cwd],
    ...argv.map((arg): Field => ["arg", arg]),
    ...Object.entries(env).map(([name, value]): Field => ["env", `${name}=${value}`]),
    ...account,
  ];
}

function hardeningFields({ hardening }: LaunchPlan): readonly Field[] {
  const { noNewPrivs = false, seccompFile, rlimits = {} } = hardening ?? {};
  return [
    ["noNewPrivs", noNewPrivs ? "1" : "0"],
    ...(seccompFile === undefined ? [] : [["seccomp", seccompFile] as const]),
    ...Object.entries(rlimits).map(([name, value]): Field => ["rlimit", `${name}=${value}`]),
  ];
}

function terminalFields({ terminal, user }: LaunchPlan): readonly Field[] {
  if (terminal === undefined) return [];
  const owner: readonly Field[] = user === undefined ? [] : [["ttyUid", String(user.uid)]];
  return [["cols", String(terminal.cols)], ["rows", String(terminal.rows)], ...owner];
}

/** No program can get one, and here it would begin another field. */
function refuseZero(value: string): void {
  if (!value.includes("\0")) return;
  throw new BoxError("exec/invalid", "a command, its folder and its environment can't hold a zero byte");
}
