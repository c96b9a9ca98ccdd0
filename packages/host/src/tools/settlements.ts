/** The forms in which a tool settles, so that the same failure reads the same from every tool. */
import type { ToolContext, ToolSettlement } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import type { Refused } from "../box/box-files-port.ts";
import { makeTextSafe } from "./safe-text.ts";

export function settleOk(text: string, details: JsonObject = {}): ToolSettlement {
  return { outcome: "ok", text, outputHandle: null, details };
}

export function settleError(text: string, details: JsonObject = {}): ToolSettlement {
  return { outcome: "error", text, outputHandle: null, details };
}

/** The box answered that it won't or can't; `what` names the thing that was asked for. */
export function settleRefused(what: string, refused: Refused): ToolSettlement {
  return settleError(`${what}: ${makeTextSafe(refused.message)} (${refused.code})`, { code: refused.code });
}

export function settleInterrupted(text: string, details: JsonObject = {}): ToolSettlement {
  return { outcome: "interrupted", text, outputHandle: null, details };
}

export function settleUnknown(text: string, details: JsonObject = {}): ToolSettlement {
  return { outcome: "unknown", text, outputHandle: null, details };
}

/** Runs a reading tool; when the turn is interrupted meanwhile, that is what the call comes to. */
export async function readUnlessInterrupted(
  context: ToolContext,
  read: () => Promise<ToolSettlement>,
): Promise<ToolSettlement> {
  const interrupted = settleInterrupted(
    "Interrupted before it was done. It only reads, so nothing was changed.",
  );
  if (context.signal.aborted) return interrupted;
  try {
    return await read();
  } catch (error) {
    // A call that the signal ended throws the signal's reason; only then is the interruption the cause.
    if (context.signal.aborted) return interrupted;
    throw error;
  }
}
