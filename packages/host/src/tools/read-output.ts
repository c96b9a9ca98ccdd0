/**
 * Reads a part of a command's output by its handle. Positions are the ones that a cut result names: bytes of the
 * text as shown, both streams in captured order, lost bytes counted. An agent reads only its own commands' output.
 */
import type { ToolSettlement } from "@sand/agent-core";
import type { AgentId, ExecutionId } from "@sand/protocol";
import { type BoxPort, type ExecutionStatus, type ExecutionView, startCursor } from "../box/box-port.ts";
import { describeExit } from "./describe-end.ts";
import { outputPageMaxBytes, outputPagesMax } from "./limits.ts";
import { createStreamMerger, type MergedPart } from "./merge-streams.ts";
import { makeOutputHandle } from "./output-handle.ts";
import { makeTextSafe } from "./safe-text.ts";
import { settleError, settleOk, settleRefused } from "./settlements.ts";

export interface OutputRead {
  readonly executionId: ExecutionId;
  readonly agentId: AgentId;
  readonly range: { readonly from: number; readonly bytesMax: number };
  readonly signal: AbortSignal;
}

export async function readOutput(box: BoxPort, request: OutputRead): Promise<ToolSettlement> {
  const { executionId, range, signal } = request;
  const handle = makeOutputHandle(executionId);
  const waited = await box.wait(executionId, 0, signal);
  if (waited.outcome === "refused") return settleRefused(`ReadFile ${makeTextSafe(handle)}`, waited);
  const { execution } = waited;
  if (execution.lineage.agentId !== request.agentId)
    return settleError(`${makeTextSafe(handle)} is not an output of this agent.`);
  const window = createWindow(range);
  const merger = createStreamMerger();
  let cursor = startCursor;
  for (let pages = 0; pages < outputPagesMax && !window.full(); pages += 1) {
    const page = await box.read(executionId, cursor, { waitMs: 0, bytesMax: outputPageMaxBytes }, signal);
    if (page.outcome === "refused") return settleRefused(`ReadFile ${makeTextSafe(handle)}`, page);
    for (const event of page.events) window.add(merger.take(event));
    if (page.ended) window.add(merger.flush());
    // A page begins with `started` each time, so only the cursor tells that there was nothing new.
    if (page.ended || page.cursor.seq === cursor.seq) break;
    cursor = page.cursor;
  }
  return settleWindow(execution, range.from, window.finish());
}

interface WindowText {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly more: boolean;
  /** how far the output was read */
  readonly position: number;
}

/** Collects the parts of a merged output that lie in a range of positions. */
function createWindow(range: OutputRead["range"]) {
  const end = range.from + range.bytesMax;
  const shown: string[] = [];
  let position = 0;
  let from = range.from;
  let to = range.from;

  function addText(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    const first = alignUp(bytes, Math.max(0, range.from - position));
    const last = alignDown(bytes, Math.min(bytes.length, end - position));
    if (first < last) {
      if (shown.length === 0) from = position + first;
      shown.push(bytes.toString("utf8", first, last));
      to = position + last;
    }
    position += bytes.length;
  }

  return {
    full: () => position > end,
    add(parts: readonly MergedPart[]): void {
      for (const part of parts) {
        if (part.kind === "text") {
          addText(part.text);
          continue;
        }
        if (position < end && position + part.bytes > range.from) {
          if (shown.length === 0) from = Math.max(from, position);
          shown.push(`\n[bytes ${position} to ${position + part.bytes} are missing here: ${part.reason}]\n`);
          to = position + part.bytes;
        }
        position += part.bytes;
      }
    },
    finish: (): WindowText => ({ text: shown.join(""), from, to, more: position > to, position }),
  };
}

function settleWindow(execution: ExecutionView, asked: number, window: WindowText): ToolSettlement {
  const handle = makeOutputHandle(execution.executionId);
  const state = describeStatus(execution.status);
  // The box counts a running command's output only now and then, so what was read may be more.
  const total = Math.max(execution.stdoutBytes + execution.stderrBytes, window.position);
  const soFar = execution.closed ? "" : " so far";
  const details = {
    from: window.from,
    to: window.to,
    more: window.more,
    state: execution.status.state,
    outputBytes: total,
  };
  if (window.text === "") {
    const text =
      total === 0 ? "no output" : `nothing at byte ${asked}; it has ${total} bytes of output${soFar}`;
    return { ...settleOk(`${handle} (${state}): ${text}`, details), outputHandle: handle };
  }
  const more = window.more
    ? `${window.text.endsWith("\n") ? "" : "\n"}[more follows: offset ${window.to}]`
    : "";
  const text = `${handle} (${state}): bytes ${window.from} to ${window.to} of ${total}${soFar}\n${window.text}${more}`;
  return { ...settleOk(text, details), outputHandle: handle };
}

function describeStatus(status: ExecutionStatus): string {
  switch (status.state) {
    case "pending":
      return "not started yet";
    case "running":
      return "still running";
    case "exited":
      return describeExit(status.exit);
    case "unknown":
      return `end unknown: ${makeTextSafe(status.reason)}`;
  }
}

/** The first character boundary at or after `index`. */
function alignUp(bytes: Uint8Array, index: number): number {
  let at = index;
  while (at < bytes.length && isContinuation(bytes[at])) at += 1;
  return at;
}

/** The last character boundary at or before `index`. */
function alignDown(bytes: Uint8Array, index: number): number {
  let at = Math.max(0, index);
  while (at > 0 && at < bytes.length && isContinuation(bytes[at])) at -= 1;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
