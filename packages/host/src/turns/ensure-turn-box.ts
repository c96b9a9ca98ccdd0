/**
 * Makes sure of the box before a turn's model calls and tools. An absent box is a typed, visible state: a record in
 * the turn and, the first time, a notice in the transcript.
 */
import { brandId, type EntryId } from "@sand/protocol";
import { recordInTurn } from "./record-in-turn.ts";
import { type TurnContext, viewOf } from "./turn-context.ts";

export async function ensureTurnBox(context: TurnContext): Promise<void> {
  const { handle, fence, services } = context;
  const signal = AbortSignal.any([context.interrupted, context.stopping]);
  // An interrupted turn still needs the box, to stop what it began.
  const found = await services.box.ensure(context.interrupted.aborted ? context.stopping : signal);
  const atMs = services.clock.nowMs();
  const before = viewOf(context);
  if (found.state === "ready") {
    context.tools = services.toolsFor(found.box);
    context.boxIsReady = true;
    if (before.boxAbsence === null) return;
    await handle.commit((tx) => recordInTurn(tx, fence, { kind: "boxReady", atMs }));
    return;
  }
  if (signal.aborted) return;
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
