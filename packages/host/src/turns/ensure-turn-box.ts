/**
 * Makes sure of the box before a turn's model calls and tools. An absent box is a typed, visible state: a record in
 * the turn and, the first time, a notice in the transcript.
 */
import { brandId, type EntryId } from "@sand/protocol";
import type { BoxState } from "../box/box-port.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { type TurnContext, viewOf } from "./turn-context.ts";

export async function ensureTurnBox(context: TurnContext): Promise<void> {
  const { handle, fence, services } = context;
  const found = await findBox(context);
  if (found === null) return;
  const atMs = services.clock.nowMs();
  const before = viewOf(context);
  if (found.state === "ready") {
    context.tools = services.toolsFor(found.box);
    context.boxIsReady = true;
    if (before.boxAbsence === null) return;
    await handle.commit((tx) => recordInTurn(tx, fence, { kind: "boxReady", atMs }));
    return;
  }
  const { code, reason } = found;
  services.logger.warn({ event: "box.absent", agentId: handle.agentId, code }, reason);
  await handle.commit((tx) => {
    recordInTurn(tx, fence, { kind: "boxAbsent", code, reason, atMs });
    if (before.boxAbsence !== null) return;
    const id = brandId<EntryId>(`${fence.turnId}.box-absent.${services.ids.next().slice(0, 8)}`);
    tx.addEntry({
      kind: "notice",
      id,
      level: "warning",
      code,
      content: `The box can't be reached: ${reason}`,
      timestampMs: atMs,
    });
  });
}

/** `null` when the wait was ended from outside; the loop then looks at what has changed. */
async function findBox(context: TurnContext): Promise<BoxState | null> {
  const { interrupted, stopping, quiescing, services } = context;
  const ending = AbortSignal.any([stopping, quiescing]);
  // A turn that is interrupted already still needs the box, to stop what it began.
  const signal = interrupted.aborted ? ending : AbortSignal.any([interrupted, ending]);
  try {
    return await services.box.ensure(signal);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}
