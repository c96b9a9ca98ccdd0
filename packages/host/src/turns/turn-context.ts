/** What the effects of one turn work with. One object for one run of one turn; it dies with the run. */
import {
  type Effect,
  type ModelPort,
  type ModelRequest,
  nextStep,
  type PromptRow,
  type ToolSet,
  type TurnFence,
  type TurnView,
} from "@sand/agent-core";
import type { Logger } from "@sand/node-kit";
import type { AgentId, Clock, HostEvent, IdSource } from "@sand/protocol";
import type { AgentHandle } from "../agents/agent-handle.ts";
import type { BoxKeeper, BoxPort } from "../box/box-port.ts";

export interface TurnServices {
  readonly model: ModelPort;
  /** the tools of a box that answers */
  toolsFor(box: BoxPort): ToolSet;
  readonly box: BoxKeeper;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** where commands run, told to the model */
  readonly workspaceRoot: string;
  /** called when a turn has ended and no other has begun */
  onSettled(agentId: AgentId): void;
  /** tokens of history that a request may hold, an estimate */
  readonly windowTokensMax: number;
  publish(events: readonly HostEvent[]): void;
}

export interface TurnContext {
  readonly handle: AgentHandle;
  readonly services: TurnServices;
  readonly fence: TurnFence;
  /** aborts when the turn is interrupted: effects stop and settle with what they have */
  readonly interrupted: AbortSignal;
  /** aborts when the host goes down: effects are left as they are, for the next start */
  readonly stopping: AbortSignal;
  /** aborts when turns are held for an upgrade: the run ends at its next boundary, calls of the box are left running */
  readonly quiescing: AbortSignal;
  /** the earlier turns that fit the window, oldest first; read once, since they can't change while this one is open */
  history: readonly TurnView[] | null;
  /** the tools of the box that this run found; empty until it found one */
  tools: ToolSet;
  /** this run has seen a living box, and no call has lost it since */
  boxIsReady: boolean;
  /** calls whose intent this run has committed and whose effect it hasn't begun: nothing of them can be under way */
  readonly intendedHere: Set<string>;
  /** calls whose effect this run has begun; an intent that is in neither set is from an earlier run */
  readonly begunHere: Set<string>;
  /** the model call whose intent is committed and that comes next */
  prepared: PreparedStep | null;
}

/** a model call with its intent */
export interface PreparedStep {
  readonly step: number;
  readonly attempt: number;
  readonly request: ModelRequest;
}

/** What comes next for this state of the turn, as far as this run knows. */
export function nextEffect(context: TurnContext, view: TurnView, pending: readonly PromptRow[]): Effect {
  const { boxIsReady, prepared, services } = context;
  return nextStep(view, { boxIsReady, pending, prepared, nowMs: services.clock.nowMs() });
}

/** The open turn. The loop asks for it only while one is open. */
export function viewOf(context: TurnContext): TurnView {
  const view = context.handle.turn();
  if (view === null || view.turnId !== context.fence.turnId) throw new Error("the turn is no longer open");
  return view;
}
