/**
 * Takes the lock of the data root, and where a host holds it that may be replaced, takes over from that host.
 *
 * Taking over is only for a holder that was prepared by `POST /prepare-upgrade`, or asked for by `--take-over`. The
 * holder is asked to prepare itself, then to end by SIGTERM, and gives the lock up as the last thing that it does; until
 * then nothing of its state is opened here. So the two processes overlap, and their writing doesn't. A holder that
 * doesn't answer isn't replaced: what it writes can't be known.
 */
import { failpoint, isSameProcess, type Logger, leavesOut, readProcessIdentity } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import { acquireHostLock, acquireSuccessorLock, type HostLock } from "@sand/store";
import { askHolder, type Holder, readHolder } from "./ask-holder.ts";
import { upgradeLimits } from "./limits.ts";
import { isPrepared, removePrepared } from "./prepared-file.ts";

export interface TakeLockDeps {
  readonly dataRoot: string;
  readonly discoveryFile: string;
  /** PEM of the certificate that this host shows, and its predecessor */
  readonly certificate: string | null;
  /** replace a host that runs, whether or not it was prepared */
  readonly takeOver: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `host/locked` when a host holds it that may not be replaced, or doesn't give way in time. */
export async function takeLock(deps: TakeLockDeps): Promise<HostLock> {
  if (leavesOut("upgrade.lock")) return noLock;
  const lock = await takeOrAwait(deps);
  failpoint("upgrade.locked");
  removePrepared(deps.dataRoot);
  return lock;
}

/** A test build without it shows that the proof of one writer would notice. */
const noLock: HostLock = { outcome: "created", release: () => undefined, [Symbol.dispose]: () => undefined };

async function takeOrAwait(deps: TakeLockDeps): Promise<HostLock> {
  const first = tryLock(deps.dataRoot);
  if (first.kind === "taken") return first.lock;
  if (!(deps.takeOver || isPrepared(deps.dataRoot, first.pid))) throw first.refusal;
  using _onlyOne = acquireSuccessorLock(deps.dataRoot);
  deps.logger.info({ event: "upgrade.takes-over", pid: first.pid }, "a host runs, and is asked to give way");
  failpoint("upgrade.waiting");
  return await awaitLock(deps);
}

async function awaitLock(deps: TakeLockDeps): Promise<HostLock> {
  const { clock } = deps;
  let isAsked = false;
  let deadlineMs = clock.nowMs() + upgradeLimits.askMaxMs;
  for (;;) {
    const tried = tryLock(deps.dataRoot);
    if (tried.kind === "taken") return tried.lock;
    if (clock.nowMs() >= deadlineMs) throw tried.refusal;
    if (!isAsked && (await makeGiveWay(deps, tried.pid))) {
      isAsked = true;
      deadlineMs = clock.nowMs() + upgradeLimits.giveWayMaxMs;
      failpoint("upgrade.asked");
    }
    await clock.sleep(upgradeLimits.lookEveryMs);
  }
}

/** Whether the holder was asked to end. Not while it quiesces, comes up, or is on its way out already. */
async function makeGiveWay(deps: TakeLockDeps, pid: number): Promise<boolean> {
  const holder = readHolder(deps.discoveryFile);
  if (holder?.pid !== pid) return false;
  // Read before it answers: whatever has this pid afterwards is the one that has answered, or isn't signalled.
  const identity = readProcessIdentity(pid);
  if (identity === undefined || pid === process.pid) return false;
  if (!(await isReady(deps, holder)) || !isSameProcess(identity)) return false;
  process.kill(pid, "SIGTERM");
  return true;
}

async function isReady({ certificate, logger }: TakeLockDeps, holder: Holder): Promise<boolean> {
  const answer = await askHolder(holder, certificate);
  switch (answer.kind) {
    case "prepared":
      if (answer.runsOn > 0)
        logger.warn({ event: "upgrade.runs-on", turns: answer.runsOn }, "turns are stopped on their way");
      return true;
    case "quiescing":
      logger.debug({ event: "upgrade.quiesces", turns: answer.runningTurns }, "turns come to a boundary");
      return false;
    case "silent":
      return false;
    case "refused":
      throw new BoxError("host/locked", `the host that runs refuses to be replaced (HTTP ${answer.status})`, {
        hint: "it may be of a version without upgrades: sand down, then sand up",
        details: { pid: holder.pid },
      });
  }
}

type Try =
  | { readonly kind: "taken"; readonly lock: HostLock }
  | { readonly kind: "held"; readonly pid: number; readonly refusal: BoxError };

function tryLock(root: string): Try {
  try {
    return { kind: "taken", lock: acquireHostLock({ root, pid: process.pid }) };
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== "host/locked") throw error;
    const pid = error.details.pid;
    // Without a text nobody can be asked; the lock alone decides.
    return { kind: "held", pid: typeof pid === "number" ? pid : 0, refusal: error };
  }
}
