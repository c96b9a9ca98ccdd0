/**
 * Prepares this host for being replaced: `POST /prepare-upgrade`.
 *
 * 1. Turns are held at their next boundary; commands go on in the box. Prompts are accepted as ever, durably, and wait.
 * 2. Each turn that is open then gets a marker before the host counts as prepared, also one that didn't reach a boundary
 *    in its time: it runs on, and whatever it has committed when the host ends is where the next host goes on.
 * 3. Nothing is lost when nobody follows up: after a time the host goes on by itself.
 *
 * Whether this process dies at any point of it makes no difference to what is kept: markers only say that a resume isn't
 * one after a crash.
 */
import { failpoint, type Logger, type Scope } from "@sand/node-kit";
import { type AgentId, BoxError, type Clock, type IdSource } from "@sand/protocol";
import type { OpenAgents } from "../agents/open-agents.ts";
import type { UpgradeAnswer, UpgradeDesk } from "../gateway/host-ports.ts";
import type { TurnQueue } from "../turns/turn-queue.ts";
import { upgradeLimits } from "./limits.ts";
import { checkpointStores, type InterruptedTurn, markTurns } from "./mark-turns.ts";
import { removePrepared, writePrepared } from "./prepared-file.ts";
import { nextPhase, type UpgradePhase } from "./upgrade-phase.ts";

/** What wakes agents by time. It is suspended with the turns; what comes due meanwhile is caught up by its own rules. */
export interface Schedule {
  suspend(): void;
  goOn(): void;
}

export interface UpgradeDeskDeps {
  readonly dataRoot: string;
  readonly open: Pick<OpenAgents, "peek">;
  readonly queue: () => TurnQueue;
  readonly schedules: readonly Schedule[];
  readonly scope: Scope;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  readonly limits?: Partial<Pick<typeof upgradeLimits, "quiesceMaxMs" | "followUpMaxMs">>;
}

export interface OwnedUpgradeDesk extends UpgradeDesk {
  /** To be called when no turn runs any more and before the stores close: marks what came since. */
  close(): Promise<void>;
}

interface Upgrade {
  readonly upgradeId: string;
  /** who was at work when it began */
  readonly atWork: readonly AgentId[];
  readonly settled: Promise<void>;
  interrupted: readonly InterruptedTurn[];
  resumesAtMs: number | null;
}

export function createUpgradeDesk(deps: UpgradeDeskDeps): OwnedUpgradeDesk {
  const { clock, logger, scope } = deps;
  const limits = { ...upgradeLimits, ...deps.limits };
  let phase: UpgradePhase = "open";
  let current: Upgrade | undefined;

  function begin(): Upgrade {
    const upgradeId = deps.ids.next();
    // First, since it is what can fail: a disk that takes nothing is no reason to stop turns.
    writePrepared(deps.dataRoot, process.pid, upgradeId);
    phase = "quiescing";
    let settle = (): void => {};
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const atWork = deps.queue().looping();
    const upgrade: Upgrade = { upgradeId, atWork, settled, interrupted: [], resumesAtMs: null };
    deps.queue().hold();
    for (const schedule of deps.schedules) schedule.suspend();
    logger.info({ event: "upgrade.quiescing", upgradeId, running: atWork.length }, "an upgrade is prepared");
    failpoint("upgrade.held");
    scope.run("upgrade", async (signal) => {
      try {
        await settleUpgrade(upgrade, signal);
      } catch (error) {
        if (phase === "quiescing") abandon(upgrade);
        throw error;
      } finally {
        settle();
      }
      await awaitFollowUp(upgrade, signal);
    });
    return upgrade;
  }

  async function settleUpgrade(upgrade: Upgrade, signal: AbortSignal): Promise<void> {
    const waited = new AbortController();
    const deadline = clock.sleep(limits.quiesceMaxMs, AbortSignal.any([signal, waited.signal]));
    await Promise.race([deps.queue().whenQuiet(), deadline]);
    waited.abort();
    if (signal.aborted) return;
    upgrade.interrupted = await markTurns(deps, agentsOf(upgrade), upgrade.upgradeId);
    failpoint("upgrade.marked");
    checkpointStores(deps, agentsOf(upgrade));
    failpoint("upgrade.prepared");
    if (nextPhase(phase, "settled") === undefined) return;
    phase = "prepared";
    upgrade.resumesAtMs = clock.nowMs() + limits.followUpMaxMs;
    tellPrepared(upgrade);
  }

  function tellPrepared({ upgradeId, interrupted }: Upgrade): void {
    const looping = new Set(deps.queue().looping());
    const runOn = interrupted.filter(({ agentId }) => looping.has(agentId));
    for (const { agentId, turnId } of runOn)
      logger.warn({ event: "upgrade.runs-on", agentId, turnId }, "a turn reached no boundary in time");
    logger.info(
      { event: "upgrade.prepared", upgradeId, turns: interrupted.length, runOn: runOn.length },
      "the host may be replaced",
    );
  }

  /** Everybody who was at work or came since: whose turn may be open. */
  function agentsOf({ atWork }: Upgrade): ReadonlySet<AgentId> {
    return new Set([...atWork, ...deps.queue().looping(), ...deps.queue().heldUp()]);
  }

  async function awaitFollowUp(upgrade: Upgrade, signal: AbortSignal): Promise<void> {
    while (phase === "prepared" && !signal.aborted) {
      const leftMs = (upgrade.resumesAtMs ?? 0) - clock.nowMs();
      if (leftMs <= 0) abandon(upgrade);
      else await clock.sleep(leftMs, signal);
    }
  }

  function abandon({ upgradeId }: Upgrade): void {
    phase = "open";
    current = undefined;
    removePrepared(deps.dataRoot);
    for (const schedule of deps.schedules) schedule.goOn();
    deps.queue().letGo();
    logger.warn({ event: "upgrade.abandoned", upgradeId }, "the host goes on without being replaced");
  }

  function answer(): UpgradeAnswer {
    const looping = deps.queue().looping();
    return {
      // Without turns there is nothing to wait for; what a turn that runs on would take is not known.
      quiescing: phase === "quiescing" && looping.length > 0,
      runningTurns: looping.length,
      phase,
      turns: current?.interrupted ?? [],
      resumesAtMs: current?.resumesAtMs ?? null,
    };
  }

  return {
    async prepare() {
      if (phase === "closing") throw new BoxError("host/shutting-down", "the host is shutting down");
      if (nextPhase(phase, "prepare") !== undefined) current = begin();
      if (current?.resumesAtMs != null) current.resumesAtMs = clock.nowMs() + limits.followUpMaxMs;
      // What is left to do is a commit for each open turn; an answer that it is safe must come after them.
      if (deps.queue().looping().length === 0) await current?.settled;
      return answer();
    },
    async close() {
      phase = "closing";
      if (current === undefined) return;
      await current.settled;
      await markTurns(deps, agentsOf(current), current.upgradeId);
    },
  };
}
