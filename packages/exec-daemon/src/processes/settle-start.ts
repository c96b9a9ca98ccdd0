/**
 * Start that may also wait a moment for the end: a short run is then told whole in the one answer, where it would else
 * take a stream of its own. It is told whole or not at all, so that a caller never has to put pieces together.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Event, StartRequest, StartResponseSchema } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { createEventReader } from "./execution-events.ts";

type Start = (request: StartRequest) => Promise<MessageInitShape<typeof StartResponseSchema>>;

/** the longest wait, in `ms`; a longer one is a stream's work */
const settleMaxMs = 1_000;
/** output that goes with the answer; a run with more is left to be read */
const settledMaxBytes = 64 * 1024;

export function createSettlingStart(start: Start, ledger: Ledger): Start {
  return async (request) => {
    const started = await start(request);
    if (request.settleMs === 0) return started;
    const execution = ledger.find(request.processId);
    if (execution === undefined) return started;
    await untilClosed(execution, Math.min(request.settleMs, settleMaxMs));
    return { ...started, events: [...readWhole(execution)] };
  };
}

async function untilClosed(execution: TrackedExecution, waitMs: number): Promise<void> {
  const endMs = performance.now() + waitMs;
  for (let leftMs = waitMs; execution.closed === undefined && leftMs > 0; leftMs = endMs - performance.now())
    await execution.changes.after(execution.changes.version, leftMs);
}

/** Nothing when it goes on, or has printed too much. */
function readWhole(execution: TrackedExecution): readonly Event[] {
  const { closed } = execution;
  if (closed === undefined || closed.stdoutBytes + closed.stderrBytes > settledMaxBytes) return [];
  const reader = createEventReader(execution, { seq: 0, stdout: 0, stderr: 0 });
  const events: Event[] = [];
  while (!reader.ended) {
    const more = reader.read(settledMaxBytes);
    if (more.length === 0) return [];
    events.push(...more);
  }
  return events;
}
