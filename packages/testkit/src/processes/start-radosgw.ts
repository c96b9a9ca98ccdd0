/**
 * A real S3 server for proofs: Ceph's monitor, one storage daemon and its gateway, from Debian's packages, in a temp
 * folder and on loopback. It shows what no imitation does: how a store treats conditions, parts and lists under races.
 *
 * All of it is started here and ended by its pid. It needs root, three programs and some seconds.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findFreePort } from "../free-port.ts";
import { createTempFolder } from "../temp-folder.ts";
import { waitUntil } from "../wait-until.ts";

export interface Radosgw extends AsyncDisposable {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const programs = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool", "ceph"];
const startDeadlineMs = 180_000;
const commandMaxMs = 60_000;
const run = promisify(execFile);

export function hasRadosgw(): boolean {
  return process.getuid?.() === 0 && programs.every((name) => isExecutable(`/usr/bin/${name}`));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export async function startRadosgw(): Promise<Radosgw> {
  const folder = await createTempFolder("rgw");
  const started: ChildProcess[] = [];
  // A proof that is told to end takes the server along.
  const atExit = (): void => {
    for (const child of started) child.kill("SIGKILL");
    rmSync(folder.path, { recursive: true, force: true });
  };
  process.once("exit", atExit);
  const stop = async (): Promise<void> => {
    for (const child of started.toReversed()) await end(child);
    process.removeListener("exit", atExit);
    await folder.remove();
  };
  try {
    return { ...(await startIn(folder.path, started)), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startIn(
  folder: string,
  started: ChildProcess[],
): Promise<Omit<Radosgw, typeof Symbol.asyncDispose>> {
  const [monitorPort, gatewayPort] = [await findFreePort(), await findFreePort()];
  const config = join(folder, "ceph.conf");
  const fsid = randomUUID();
  writeFileSync(config, configText(folder, fsid, monitorPort));
  for (const name of ["mon", "osd", "run"]) mkdirSync(join(folder, name));
  const ceph = async (program: string, ...args: readonly string[]): Promise<string> =>
    (await run(program, ["-c", config, ...args], { timeout: commandMaxMs, cwd: folder })).stdout;
  const serve = (name: string, program: string, ...args: readonly string[]): ChildProcess => {
    const log = openSync(join(folder, `${name}.log`), "a");
    const child = spawn(program, ["-c", config, "-f", ...args], { cwd: folder, stdio: ["ignore", log, log] });
    closeSync(log);
    started.push(child);
    return child;
  };

  const map = join(folder, "monmap");
  await run("monmaptool", ["--create", "--fsid", fsid, "--addv", "a", `[v1:127.0.0.1:${monitorPort}]`, map]);
  await ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", map);
  serve("mon", "ceph-mon", "-i", "a");
  const osdId = randomUUID();
  await ceph("ceph", "--connect-timeout", "50", "osd", "new", osdId);
  await ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osdId);
  serve("osd", "ceph-osd", "-i", "0");
  await waitUntil("the storage daemon", async () => (await ceph("ceph", "osd", "stat")).includes("1 up"), {
    deadlineMs: startDeadlineMs,
    everyMs: 200,
  });
  const keys = {
    accessKeyId: randomBytes(10).toString("hex"),
    secretAccessKey: randomBytes(20).toString("hex"),
  };
  const credentials = ["--access-key", keys.accessKeyId, "--secret-key", keys.secretAccessKey];
  await ceph("radosgw-admin", "user", "create", "--uid", "sand", "--display-name", "sand", ...credentials);
  serve("rgw", "radosgw", "-n", "client.rgw", "--rgw-frontends", `beast endpoint=127.0.0.1:${gatewayPort}`);
  const endpoint = `http://127.0.0.1:${gatewayPort}`;
  await waitUntil(
    "the gateway",
    () =>
      fetch(endpoint).then(
        (answer) => answer.ok,
        () => false,
      ),
    {
      deadlineMs: startDeadlineMs,
      everyMs: 200,
      describe: () => readFileSync(join(folder, "rgw.log"), "utf8").slice(-2_000),
    },
  );
  return { endpoint, ...keys };
}

/** One of each, nothing kept twice, nobody asked for a key: it is reached on loopback and lives for minutes. */
function configText(folder: string, fsid: string, monitorPort: number): string {
  const settings = {
    fsid,
    mon_host: `[v1:127.0.0.1:${monitorPort}]`,
    mon_initial_members: "a",
    auth_cluster_required: "none",
    auth_service_required: "none",
    auth_client_required: "none",
    keyring: "/dev/null",
    ms_bind_msgr2: false,
    public_addr: "127.0.0.1",
    run_dir: join(folder, "run"),
    admin_socket: join(folder, "run", "$name.$pid.asok"),
    pid_file: "",
    log_to_stderr: true,
    log_file: "",
    mon_cluster_log_file: "",
    mon_data: join(folder, "mon"),
    osd_data: join(folder, "osd"),
    osd_objectstore: "bluestore",
    bluestore_block_size: 8 * 2 ** 30,
    osd_memory_target: 939_524_096,
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 4,
    osd_pool_default_pgp_num: 4,
    osd_pool_default_pg_autoscale_mode: "off",
    mon_allow_pool_size_one: true,
    mon_data_avail_crit: 1,
    osd_crush_chooseleaf_type: 0,
    rgw_thread_pool_size: 32,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${String(value)}`);
  return `[global]\n${lines.join("\n")}\n`;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
