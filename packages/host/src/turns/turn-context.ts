/** What the effects of one turn work with. One object for one run of one turn; it dies with the run. */
import type { ModelPort, ToolSet, TurnFence, TurnView } from "@sand/agent-core";
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
  /** the earlier turns that fit the window, oldest first; read once, since they can't change while this one is open */
  history: readonly TurnView[] | null;
  /** the tools of the box that this run found; empty until it found one */
  tools: ToolSet;
  /** this run has seen a living box, and no call has lost it since */
  boxIsReady: boolean;
  /** calls whose effect this process has begun itself; all other intents are from an earlier process */
  readonly begunHere: Set<string>;
}

/** The open turn. The loop asks for it only while one is open. */
export function viewOf(context: TurnContext): TurnView {
  const view = context.handle.turn();
  if (view === null || view.turnId !== context.fence.turnId) throw new Error("the turn is no longer open");
  return view;
}
