/**
 * Keepers that are started ahead of time, so that a command doesn't wait for a process to come up.
 *
 * A keeper is in a session of its own, has a clean environment, and its only ties to us are two pipes: when we die it
 * goes on with what it has. One that finished is used again, up to `sparesMax` idle ones; the rest are let go by
 * closing their input.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { BoxError } from "@sand/protocol";
import { parseTold } from "../ledger/records.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { limits } from "../limits.ts";

/** what a keeper gets to keep, and who hears what it says of it */
export type GivenExecution = Pick<TrackedExecution, "folder" | "start" | "learn">;

export interface KeeperPool {
  /** Hands an execution to a keeper. Resolves when the order is given, with what this keeper says when it ends. */
  give(execution: GivenExecution): Promise<{ readonly finished: Promise<KeeperReport> }>;
  /** its keepers wait until the intent is on the disk, so nobody else has to */
  readonly syncsIntents: boolean;
  /** its keepers say the records that they write, so nobody has to look for them */
  readonly tellsRecords: boolean;
  /** Starts the first spares. */
  fill(): void;
  /** Lets idle keepers go; busy ones go on alone. */
  close(): void;
}

/** `lost`: the process is gone without a word */
export type KeeperReport = "taken" | "closed" | "leaving" | "lost";

interface Keeper {
  readonly child: ChildProcess;
  readonly ready: Promise<boolean>;
  onReport: ((report: KeeperReport) => void) | undefined;
  onReady: ((ok: boolean) => void) | undefined;
  /** what it keeps, or kept last */
  kept: GivenExecution | undefined;
  gone: boolean;
}

export interface KeeperPoolDeps extends Pick<KeeperPool, "syncsIntents" | "tellsRecords"> {
  /** the program and its arguments */
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** what a keeper is told to keep an execution */
  readonly encode: (execution: GivenExecution) => Buffer;
}

interface Waiter {
  readonly resolve: (keeper: Keeper) => void;
  readonly reject: (error: BoxError) => void;
}

export function createKeeperPool(deps: KeeperPoolDeps): KeeperPool {
  const idle: Keeper[] = [];
  // Bounded by the limit of running executions: each waiter is one of them.
  const waiters: Waiter[] = [];
  let starting = 0;
  let closed = false;

  /** A keeper that can take an execution: whoever has waited longest gets it, a new one or one that is used again. */
  function offer(keeper: Keeper): void {
    if (keeper.gone) {
      fill();
      return;
    }
    const waiter = waiters.shift();
    if (waiter !== undefined) waiter.resolve(keeper);
    else if (closed || idle.length >= limits.sparesMax) letGo(keeper);
    else idle.push(keeper);
  }

  async function startOne(): Promise<void> {
    const keeper = spawnKeeper(deps);
    const isReady = await keeper.ready;
    starting -= 1;
    if (isReady) offer(keeper);
    else waiters.shift()?.reject(new BoxError("exec/spawn-failed", "no keeper process came up"));
    if (isReady) fill();
  }

  function fill(): void {
    const wanted = (): number => waiters.length + (closed ? 0 : limits.sparesMin - idle.length);
    while (starting < limits.keepersStartingMax && starting < wanted()) {
      starting += 1;
      void startOne();
    }
  }

  async function take(): Promise<Keeper> {
    for (let keeper = idle.pop(); keeper !== undefined; keeper = idle.pop()) {
      if (!keeper.gone) return keeper;
    }
    const { promise, resolve, reject } = Promise.withResolvers<Keeper>();
    waiters.push({ resolve, reject });
    fill();
    return await promise;
  }

  return {
    syncsIntents: deps.syncsIntents,
    tellsRecords: deps.tellsRecords,
    fill,
    async give(execution) {
      const order = deps.encode(execution);
      const keeper = await take();
      fill();
      const finished = new Promise<KeeperReport>((resolve) => {
        keeper.onReport = resolve;
        if (keeper.gone) resolve("lost");
      });
      keeper.onReady = () => offer(keeper);
      keeper.kept = execution;
      keeper.child.stdin?.write(order);
      return { finished };
    },
    close() {
      closed = true;
      for (const keeper of idle.splice(0)) letGo(keeper);
    },
  };
}

function hear(execution: GivenExecution | undefined, line: string): void {
  const told = parseTold(line);
  if (told !== undefined) execution?.learn(told);
}

function letGo(keeper: Keeper): void {
  keeper.child.stdin?.end();
}

function spawnKeeper(deps: KeeperPoolDeps): Keeper {
  const [program, ...args] = deps.command;
  const child = spawn(program, args, {
    cwd: deps.cwd,
    env: { ...deps.env },
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
  });
  // It outlives us; we don't wait for it.
  child.unref();
  const keeper: Keeper = {
    child,
    ready: Promise.resolve(false),
    onReport: undefined,
    onReady: undefined,
    kept: undefined,
    gone: false,
  };
  const ready = new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, limits.keeperReadyMaxMs, false);
    keeper.onReady = (ok) => {
      clearTimeout(timer);
      resolve(ok);
    };
  });
  listen(keeper);
  return Object.assign(keeper, { ready });
}

function listen(keeper: Keeper): void {
  const onGone = (): void => {
    if (keeper.gone) return;
    keeper.gone = true;
    const { onReport, onReady } = keeper;
    if (onReport === undefined) onReady?.(false);
    onReport?.("lost");
  };
  keeper.child.on("error", onGone);
  keeper.child.on("exit", onGone);
  // A write to a keeper that is just dying fails; its exit says the rest.
  keeper.child.stdin?.on("error", () => undefined);
  if (keeper.child.stdout === null) return;
  createInterface({ input: keeper.child.stdout }).on("line", (line) => {
    if (line === "ready") keeper.onReady?.(true);
    else if (line === "taken" || line === "closed" || line === "leaving") keeper.onReport?.(line);
    else hear(keeper.kept, line);
  });
}
