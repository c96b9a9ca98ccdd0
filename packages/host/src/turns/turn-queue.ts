/**
 * Runs at most one turn loop for each agent, and many agents side by side.
 *
 * `wake` is the only way in: an acceptance, an answer, a finished child, a start of the host. Waking an agent that
 * already runs makes its loop look once more before it ends, so no wake is lost between its last look and its end.
 *
 * For an upgrade the queue is held: no loop begins, each one ends at its next boundary, and whoever would have gone on is
 * remembered until the queue is let go.
 */
import type { Scope } from "@sand/node-kit";
import { type AgentId, BoxError, type Clock, errorCodes } from "@sand/protocol";

export interface TurnQueue {
  wake(agentId: AgentId): void;
  /** whether a loop works on the agent, or will when the queue is let go */
  isRunning(agentId: AgentId): boolean;
  runningCount(): number;
  hold(): void;
  letGo(): void;
  /** whose loops are under way now */
  looping(): readonly AgentId[];
  /** who goes on when the queue is let go */
  heldUp(): readonly AgentId[];
  /** resolves when no loop is under way; to be asked only while the queue is held */
  whenQuiet(): Promise<void>;
  /** resolves when nothing runs for the agent any more */
  whenIdle(agentId: AgentId): Promise<void>;
  /** from now on prompts are refused with `host/shutting-down`; running loops stop at the scope's signal */
  close(): void;
  refuseWhenClosing(): void;
}

export interface RunSignals {
  /** the host goes down: effects are left as they are, for the next start */
  readonly stopping: AbortSignal;
  /** turns are held: the run ends at its next boundary */
  readonly quiescing: AbortSignal;
}

/** `left-open`: a signal ended the run, and the agent's turn isn't over */
export type RunEnd = "done" | "left-open";

export interface TurnQueueDeps {
  readonly scope: Scope;
  /** works on the agent until it has nothing to do; ends early when a signal aborts */
  run(agentId: AgentId, signals: RunSignals): Promise<RunEnd>;
  onBusyChange(runningCount: number): void;
  /** the agent's store or box failed in a way that may pass; the loop goes on after a wait */
  onRetry(agentId: AgentId, error: BoxError, failures: number): void;
  readonly clock: Clock;
}

/** first wait after a failed run, in `ms`; doubles with each failure in a row */
const retryBaseMs = 250;
const retryMaxMs = 15_000;

interface LoopState {
  again: boolean;
  readonly idle: Promise<void>;
}

export function createTurnQueue(deps: TurnQueueDeps): TurnQueue {
  const running = new Map<AgentId, LoopState>();
  const heldUp = new Set<AgentId>();
  /** aborted while the queue is held */
  let hold = new AbortController();
  let isClosed = false;

  async function loop(agentId: AgentId, state: LoopState, stopping: AbortSignal): Promise<void> {
    let failures = 0;
    try {
      do {
        state.again = false;
        const signals = { stopping, quiescing: hold.signal };
        failures = await runOnce(agentId, state, signals, failures);
        if (failures > 0) {
          const waitMs = Math.min(retryBaseMs * 2 ** (failures - 1), retryMaxMs);
          await deps.clock.sleep(waitMs, AbortSignal.any([stopping, signals.quiescing]));
          state.again = true;
        }
      } while (state.again && !stopping.aborted && !hold.signal.aborted);
    } finally {
      // In the same breath as the last look at `again`: a wake after this line starts a new loop.
      running.delete(agentId);
      if (state.again && hold.signal.aborted) heldUp.add(agentId);
    }
  }

  /** The number of failures in a row so far. What can't get better by itself is thrown to the scope. */
  async function runOnce(
    agentId: AgentId,
    state: LoopState,
    signals: RunSignals,
    failures: number,
  ): Promise<number> {
    try {
      if ((await deps.run(agentId, signals)) === "left-open") state.again = true;
      return 0;
    } catch (error) {
      if (
        signals.stopping.aborted ||
        !(error instanceof BoxError) ||
        errorCodes[error.code].retry === "never"
      )
        throw error;
      deps.onRetry(agentId, error, failures + 1);
      return failures + 1;
    }
  }

  function wake(agentId: AgentId): void {
    const current = running.get(agentId);
    if (current !== undefined) {
      current.again = true;
      return;
    }
    // Also of a queue that is closed already: whoever comes last is to be marked like the others.
    if (hold.signal.aborted) heldUp.add(agentId);
    if (isClosed || hold.signal.aborted) return;
    let ended = (): void => {};
    const idle = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const state = { again: false, idle };
    running.set(agentId, state);
    deps.onBusyChange(running.size);
    deps.scope.run(`turn of ${agentId}`, async (signal) => {
      try {
        await loop(agentId, state, signal);
      } finally {
        ended();
        deps.onBusyChange(running.size);
      }
    });
  }

  return {
    wake,
    isRunning: (agentId) => running.has(agentId) || heldUp.has(agentId),
    runningCount: () => running.size + heldUp.size,
    hold: () => hold.abort(),
    letGo() {
      hold = new AbortController();
      const waiting = [...heldUp];
      heldUp.clear();
      for (const agentId of waiting) wake(agentId);
    },
    looping: () => [...running.keys()],
    heldUp: () => [...heldUp],
    async whenQuiet() {
      await Promise.all([...running.values()].map(({ idle }) => idle));
    },
    async whenIdle(agentId) {
      await running.get(agentId)?.idle;
    },
    close() {
      isClosed = true;
    },
    refuseWhenClosing() {
      if (isClosed)
        throw new BoxError("host/shutting-down", "the host is shutting down", {
          hint: "send it again with the same nonce",
        });
    },
  };
}
