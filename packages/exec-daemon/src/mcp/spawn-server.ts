/**
 * Starts a stdio server as a process of ours, in a session and group of its own, and ends it with all that belongs to
 * it. It ends with the daemon too: a sandbox dies with its parent, and what outlives a killed daemon otherwise is found
 * by the next one (`server-traces.ts`).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { readProcessIdentity } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { LaunchPlan } from "../ledger/records.ts";
import { endServer, type ServerTree } from "./end-server.ts";
import { environmentFd, writeEnvironment } from "./plan-server.ts";

export interface ServerProcess {
  readonly pid: number;
  readonly sandboxed: boolean;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** how the process that we started ended, for people */
  readonly exited: Promise<string>;
  /** Resolves with the pids that are still there: none, unless the kernel holds one back. The same for each call. */
  end(): Promise<readonly number[]>;
}

export interface SpawnServerDeps {
  readonly clock: Clock;
  readonly launch: LaunchPlan;
  readonly marker: string;
  /** what the server gets beside the plan's own variables */
  readonly env: Readonly<Record<string, string>>;
  /** Notes what was started; what comes back is called when nothing of it is left. */
  readonly note: (tree: ServerTree) => () => void;
}

export async function spawnServer(deps: SpawnServerDeps): Promise<ServerProcess> {
  const { launch, marker } = deps;
  const child = start(launch);
  const exited = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(describeExit(code, signal)));
    child.once("error", () => resolve("it could not be started"));
  });
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once("spawn", () => resolve(undefined));
    child.once("error", resolve);
  });
  const { stdin, stdout, stderr, pid } = child;
  if (failure !== undefined || pid === undefined || stdin === null || stdout === null || stderr === null)
    throw new BoxError("mcp/unavailable", "the server's process could not be started", { cause: failure });
  // One that ends at once doesn't take what it is told; its end says the rest.
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
  giveEnvironment(child, deps.env);
  const identity = readProcessIdentity(pid) ?? { pid, startTime: "", bootId: "" };
  const tree: ServerTree = { leader: identity, marker, sandboxed: launch.sandboxed, user: launch.user };
  const forget = deps.note(tree);
  let ending: Promise<readonly number[]> | undefined;

  async function end(): Promise<readonly number[]> {
    const left = await endServer(tree, { clock: deps.clock, closeInput: () => stdin?.end() });
    if (left.length === 0) forget();
    // Somebody who got away may hold the other ends.
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    return left;
  }

  return {
    ...{ pid, stdin, stdout, stderr, exited },
    sandboxed: launch.sandboxed,
    end() {
      ending ??= end();
      return ending;
    },
  };
}

/** the first descriptor of the plan's files; before it is the one on which a sandbox tells of itself */
const firstFileFd = 4;

function start(launch: LaunchPlan): ChildProcess {
  const [program = "", ...args] = launch.argv;
  const files = (launch.openFiles ?? []).map((path) => openSync(path, "r"));
  const none = Array.from({ length: environmentFd - firstFileFd - files.length }, () => "ignore" as const);
  try {
    return spawn(program, args, {
      cwd: launch.cwd,
      env: { ...launch.env },
      detached: true,
      stdio: ["pipe", "pipe", "pipe", launch.sandboxed ? "pipe" : "ignore", ...files, ...none, "pipe"],
    });
  } finally {
    for (const fd of files) closeSync(fd);
  }
}

function giveEnvironment(child: ChildProcess, env: Readonly<Record<string, string>>): void {
  // What the sandbox tells of itself isn't needed here, but has to be taken.
  const streams: readonly unknown[] = child.stdio;
  const [info, stream] = [streams[firstFileFd - 1], streams[environmentFd]];
  if (info instanceof Readable) info.on("error", () => undefined).resume();
  if (!(stream instanceof Writable)) return;
  stream.on("error", () => undefined);
  stream.end(writeEnvironment(env));
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `it ended with status ${code ?? "unknown"}` : `it was ended by ${signal}`;
}
