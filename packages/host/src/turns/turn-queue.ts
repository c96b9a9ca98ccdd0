/**
 * Runs at most one turn loop for each agent, and many agents side by side.
 *
 * `wake` is the only way in: an acceptance, an answer, a finished child, a start of the host. Waking an agent that
 * already runs makes its loop look once more before it ends, so no wake is lost between its last look and its end.
 */
import type { Scope } from "@sand/node-kit";
import { type AgentId, BoxError, type Clock, errorCodes } from "@sand/protocol";

export interface TurnQueue {
  wake(agentId: AgentId): void;
  isRunning(agentId: AgentId): boolean;
  runningCount(): number;
  /** resolves when nothing runs for the agent any more */
  whenIdle(agentId: AgentId): Promise<void>;
  /** from now on prompts are refused with `host/shutting-down`; running loops stop at the scope's signal */
  close(): void;
  refuseWhenClosing(): void;
}

export interface TurnQueueDeps {
  readonly scope: Scope;
  /** works on the agent until it has nothing to do; ends early when the signal aborts */
  run(agentId: AgentId, signal: AbortSignal): Promise<void>;
  onBusyChange(runningCount: number): void;
  /** the agent's store or box failed in a way that may pass; the loop goes on after a wait */
  onRetry(agentId: AgentId, error: BoxError, failures: number): void;
  readonly clock: Clock;
}

/** first wait after a failed run, in `ms`; doubles with each failure in a row */
const retryBaseMs = 250;
const retryMaxMs = 15_000;

export function createTurnQueue(deps: TurnQueueDeps): TurnQueue {
  const running = new Map<AgentId, { again: boolean; readonly idle: Promise<void> }>();
  let isClosed = false;

  async function loop(agentId: AgentId, state: { again: boolean }, signal: AbortSignal): Promise<void> {
    let failures = 0;
    try {
      do {
        state.again = false;
        failures = await runOnce(agentId, signal, failures);
        if (failures > 0) {
          await deps.clock.sleep(Math.min(retryBaseMs * 2 ** (failures - 1), retryMaxMs), signal);
          state.again = true;
        }
      } while (state.again && !signal.aborted);
    } finally {
      // In the same breath as the last look at `again`: a wake after this line starts a new loop.
      running.delete(agentId);
    }
  }

  /** The number of failures in a row so far. What can't get better by itself is thrown to the scope. */
  async function runOnce(agentId: AgentId, signal: AbortSignal, failures: number): Promise<number> {
    try {
      await deps.run(agentId, signal);
      return 0;
    } catch (error) {
      if (signal.aborted || !(error instanceof BoxError) || errorCodes[error.code].retry === "never")
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
    if (isClosed) return;
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
    isRunning: (agentId) => running.has(agentId),
    runningCount: () => running.size,
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
