/**
 * ListeningPorts: which TCP ports of the box are listened on, and by whom of ours.
 *
 * The kernel names a socket by its inode, and a process's descriptors name the same inode. Another account's descriptors
 * are closed to us whatever we may do, so that account is asked to look. What listens in a network of its own can't be
 * reached from here and isn't shown.
 */
import { execFile } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ListeningPortSchema,
  ListeningPortsRequest,
  ListeningPortsResponseSchema,
} from "@sand/protocol/exec";
import { type CommandUser, runAsUser } from "../command-user.ts";
import type { BoxOwners } from "./box-owners.ts";
import { readText } from "./process-table.ts";
import { type ListeningSocket, parseListening } from "./socket-table.ts";

export interface ListeningPortsDeps {
  readonly owners: BoxOwners;
  readonly user: CommandUser | undefined;
}

const portsMax = 1000;
const pidsAtOnce = 50;
const searchMaxMs = 5000;
const searchMaxBytes = 4 * 1024 * 1024;

export async function listPorts(
  deps: ListeningPortsDeps,
  request: ListeningPortsRequest,
): Promise<MessageInitShape<typeof ListeningPortsResponseSchema>> {
  const sockets = ["tcp", "tcp6"].flatMap((name) => parseListening(readText(`/proc/self/net/${name}`)));
  const { rows, owners } = deps.owners();
  const wanted = new Set(sockets.map(({ inode }) => inode));
  const pids = rows.map(({ pid }) => pid);
  const holders = await findHolders(pids, wanted);
  if (deps.user !== undefined) {
    for (const [inode, pid] of await findHoldersAs(deps.user, pids, wanted)) holders.set(inode, pid);
  }
  const names = new Map(rows.map((row) => [row.pid, row.name]));
  const found = sockets.flatMap((socket: ListeningSocket): MessageInitShape<typeof ListeningPortSchema>[] => {
    const pid = holders.get(socket.inode) ?? 0;
    const owner = owners.get(pid);
    const isOurs = owner !== undefined && owner.daemon !== true;
    if (!isOurs && !request.all) return [];
    return [
      {
        port: socket.port,
        address: socket.address,
        pid,
        name: programOf(pid, names.get(pid) ?? ""),
        owner: owner ?? {},
      },
    ];
  });
  found.sort((a, b) => (a.port ?? 0) - (b.port ?? 0));
  return { ports: found.slice(0, portsMax), truncated: found.length > portsMax };
}

/** Node calls its first thread so, which is what the kernel knows; what was started says more. */
function programOf(pid: number, name: string): string {
  if (name !== "MainThread") return name;
  return basename(readText(`/proc/${pid}/cmdline`).split("\0")[0] ?? "") || name;
}

async function findHolders(
  pids: readonly number[],
  wanted: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const holders = new Map<string, number>();
  for (const [at, pid] of pids.entries()) {
    // Other callers' turns, now and then.
    if (at % pidsAtOnce === pidsAtOnce - 1) await new Promise((resolve) => setImmediate(resolve));
    for (const link of readLinks(pid)) {
      const inode = inodeOf(link);
      // The first that is found is the one that opened it, most often; a child has the same descriptor.
      if (inode !== undefined && wanted.has(inode) && !holders.has(inode)) holders.set(inode, pid);
    }
  }
  return holders;
}

function readLinks(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((fd) => readLink(`${folder}/${fd}`));
  } catch {
    // Gone, or another account's.
    return [];
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function inodeOf(link: string): string | undefined {
  return /^socket:\[(\d+)\]$/u.exec(link)?.[1];
}

async function findHoldersAs(
  user: CommandUser,
  pids: readonly number[],
  wanted: ReadonlySet<string>,
): Promise<readonly (readonly [string, number])[]> {
  const folders = pids.map((pid) => `/proc/${pid}/fd`);
  const search = ["-maxdepth", "1", "-lname", "socket:*", "-printf", "%p %l\\n"];
  const run = runAsUser(user, { argv: ["/usr/bin/find", ...folders, ...search], env: {}, cwd: "/" });
  const [program = "", ...args] = run.argv;
  const output = await new Promise<string>((resolve) => {
    // It complains of every process that it may not look at; what it did find stands.
    execFile(program, args, { timeout: searchMaxMs, maxBuffer: searchMaxBytes, env: {} }, (_error, stdout) =>
      resolve(stdout),
    );
  });
  return output.split("\n").flatMap((line) => {
    const [, pid, inode] = /^\/proc\/(\d+)\/fd\/\d+ socket:\[(\d+)\]$/u.exec(line) ?? [];
    return pid !== undefined && inode !== undefined && wanted.has(inode)
      ? [[inode, Number(pid)] as const]
      : [];
  });
}
