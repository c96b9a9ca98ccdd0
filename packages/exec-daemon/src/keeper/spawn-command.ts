/** Starts a command in a session and group of its own and finds out its pid, also inside a sandbox. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { readBootId, readProcessIdentity } from "@sand/node-kit";
import type { LaunchPlan, StartedRecord } from "../ledger/records.ts";
import type { CommandPipes } from "./open-pipes.ts";

export type SpawnOutcome =
  | { readonly kind: "running"; readonly child: ChildProcess; readonly started: StartedRecord }
  | { readonly kind: "failed"; readonly code: 126 | 127; readonly message: string };

/** bubblewrap's answer on the information descriptor is small */
const infoMaxChars = 16_384;

export async function spawnCommand(launch: LaunchPlan, pipes: CommandPipes): Promise<SpawnOutcome> {
  const [program, ...args] = launch.argv;
  if (program === undefined) return { kind: "failed", code: 127, message: "there is no program to run" };
  if (needsShim(launch)) return { kind: "failed", code: 126, message: "only the native shim can keep this" };
  const opened = openFilesOf(launch);
  const child = spawn(program, args, {
    cwd: launch.cwd,
    env: { ...launch.env },
    detached: true,
    stdio: [
      pipes.child.stdin ?? "ignore",
      pipes.child.stdout,
      pipes.child.stderr,
      launch.sandboxed ? "pipe" : "ignore",
      ...opened,
    ],
  });
  for (const fd of opened) closeSync(fd);
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    child.once("spawn", () => resolve(undefined));
    child.once("error", resolve);
  });
  pipes.releaseChildEnds();
  if (failure !== undefined || child.pid === undefined) return describeFailure(failure);
  const pid = launch.sandboxed ? ((await readInnerPid(child)) ?? child.pid) : child.pid;
  return { kind: "running", child, started: describe(pid) };
}

function openFilesOf({ openFiles, saveFile }: LaunchPlan): readonly number[] {
  return [
    ...(openFiles ?? []).map((path) => openSync(path, "r")),
    ...(saveFile === undefined ? [] : [openSync(saveFile, "a")]),
  ];
}

function describeFailure(failure: NodeJS.ErrnoException | undefined): SpawnOutcome {
  const code = failure?.code === "EACCES" ? 126 : 127;
  return { kind: "failed", code, message: failure?.message ?? "no process came up" };
}

function needsShim({ terminal, hardening }: LaunchPlan): boolean {
  return terminal !== undefined || hardening !== undefined;
}

/** A command may be gone before it is looked at; its record then has no start time, which matches no process. */
function describe(pid: number): StartedRecord {
  const identity = readProcessIdentity(pid);
  return {
    pid,
    pgid: pid,
    startTime: identity?.startTime ?? "",
    bootId: identity?.bootId ?? readBootId() ?? "",
  };
}

/** The first process of the namespace: it leads the session and group of all that runs inside. */
async function readInnerPid(child: ChildProcess): Promise<number | undefined> {
  const info = child.stdio[3];
  if (info === null || info === undefined || !("read" in info)) return undefined;
  const text = await readAll(info as Readable);
  const pid = /"child-pid":\s*(\d+)/u.exec(text)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

async function readAll(stream: Readable): Promise<string> {
  let text = "";
  stream.setEncoding("utf8");
  for await (const piece of stream) {
    text = (text + String(piece)).slice(0, infoMaxChars);
  }
  return text;
}
