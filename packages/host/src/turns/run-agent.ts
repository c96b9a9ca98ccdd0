/**
 * Works an agent's open turns off: the loop reduce → next step → one effect, until nothing is open.
 *
 * INV-3: everything a run writes is fenced by its turn's generation. A run that was superseded can write nothing.
 */
import { failpoint, leavesOut } from "@sand/node-kit";
import type { AgentId, TurnId } from "@sand/protocol";
import type { AgentHandle } from "../agents/agent-handle.ts";
import type { OpenAgents } from "../agents/open-agents.ts";
import { readMarker, takeMarker } from "../upgrade/resume-marker.ts";
import { turnsPerPage } from "./build-request.ts";
import { performEffect } from "./perform-effect.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { nextEffect, type TurnContext, type TurnServices } from "./turn-context.ts";
import type { RunEnd, RunSignals } from "./turn-queue.ts";

export interface RunAgentDeps {
  readonly open: OpenAgents;
  readonly services: TurnServices;
  /** names this start of the host; an open turn that began under another one is resumed */
  readonly bootId: string;
}

export function createRunAgent(
  deps: RunAgentDeps,
): (agentId: AgentId, signals: RunSignals) => Promise<RunEnd> {
  /** turns of earlier processes that this one goes on with; each is counted once */
  const taken = new Set<string>();

  return async function runAgent(agentId, { stopping, quiescing }) {
    const handle = await deps.open.open(agentId);
    const ending = AbortSignal.any([stopping, quiescing]);
    for (let turn = handle.turn(); turn !== null && !ending.aborted; turn = handle.turn()) {
      const interrupt = new AbortController();
      const context = newContext(handle, deps.services, {
        interrupted: interrupt.signal,
        stopping,
        quiescing,
      });
      handle.onInterrupt = () => interrupt.abort();
      if (turn.interruptedBy !== null) interrupt.abort();
      const isInherited = turn.turnId === handle.inheritedTurnId && !taken.has(turn.turnId);
      if (isInherited || hasMarker(handle, turn.turnId)) {
        await resume(context, deps.bootId);
        taken.add(turn.turnId);
      }
      try {
        await runTurn(context);
      } finally {
        handle.onInterrupt = null;
      }
    }
    return ending.aborted && handle.turn() !== null ? "left-open" : "done";
  };
}

function hasMarker(handle: AgentHandle, turnId: TurnId): boolean {
  return !leavesOut("upgrade.markers") && readMarker(handle.store.read, turnId) !== undefined;
}

function newContext(
  handle: AgentHandle,
  services: TurnServices,
  signals: Pick<TurnContext, "interrupted" | "stopping" | "quiescing">,
): TurnContext {
  const turn = handle.turn();
  if (turn === null) throw new Error("no turn is open");
  const fence = { turnId: turn.turnId, generation: turn.generation };
  return {
    handle,
    services,
    fence,
    ...signals,
    history: null,
    tools: new Map(),
    boxIsReady: false,
    intendedHere: new Set(),
    begunHere: new Set(),
    prepared: null,
  };
}

async function resume(context: TurnContext, bootId: string): Promise<void> {
  const { fence, handle, services } = context;
  await handle.commit((tx) => {
    const marker = leavesOut("upgrade.markers") ? undefined : takeMarker(tx, fence.turnId);
    const planned = marker === undefined ? {} : { marker };
    recordInTurn(tx, fence, { kind: "turnResumed", bootId, ...planned, atMs: services.clock.nowMs() });
  });
  services.logger.info(
    { event: "turn.resumed", agentId: handle.agentId, turnId: fence.turnId },
    "an open turn goes on",
  );
  failpoint("boot.resume");
}

async function runTurn(context: TurnContext): Promise<void> {
  const { handle, stopping, quiescing, fence } = context;
  await handle.store.preloadPayloads(turnsPerPage);
  while (!stopping.aborted) {
    const view = handle.turn();
    if (view === null || view.turnId !== fence.turnId) return;
    const effect = nextEffect(context, view, handle.store.read.pendingPrompts());
    if (effect.type === "done") return;
    // A turn that has come to its end is settled also for an upgrade; nothing else is begun.
    if (quiescing.aborted && effect.type !== "settle") return;
    // Whatever comes first changes what the model is to be told.
    if (effect.type !== "callModel") context.prepared = null;
    await performEffect(context, effect);
  }
}
