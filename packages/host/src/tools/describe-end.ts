/**
 * The text and the outcome of a finished command. `ok` means that the command ran to its end, whatever its exit code:
 * the code is the command's answer, and the model reads it. A command that never ran or was stopped by its limit is
 * an `error`; one whose end nobody recorded is `unknown`, and it is never run again for that.
 */
import type { ToolSettlement } from "@sand/agent-core";
import type { ExecutionId, JsonObject } from "@sand/protocol";
import type { ExitFacts } from "../box/box-port.ts";
import type { CollectedExecution, ExecutionEnd } from "./collect-execution.ts";
import { makeOutputHandle } from "./output-handle.ts";
import { makeTextSafe } from "./safe-text.ts";

interface Verdict {
  readonly outcome: ToolSettlement["outcome"];
  readonly headline: string;
}

export function settleExecution(
  executionId: ExecutionId,
  collected: CollectedExecution,
  killMs: number | null,
): ToolSettlement {
  const { output, end } = collected;
  const verdict = collected.interrupted ? judgeInterrupted(end) : judgeEnd(end, killMs);
  const cut = output.omittedBytes > 0 || output.lostBytes > 0;
  const handle = makeOutputHandle(executionId);
  const notes: string[] = [];
  if (collected.lossy)
    notes.push("some bytes were not UTF-8 text (or were NUL) and are shown as \uFFFD or \u2400");
  if (collected.leftOpen) notes.push("a process that it started still runs and holds its output open");
  if (cut) notes.push(`read what is left out with ReadFile {"handle": "${handle}", "offset": <byte>}`);
  const body = output.text === "" ? "(no output)" : output.text;
  const tail = notes.length === 0 ? "" : `${body.endsWith("\n") ? "" : "\n"}[${notes.join("; ")}]`;
  return {
    outcome: verdict.outcome,
    text: `${verdict.headline}\n${body}${tail}`,
    outputHandle: cut ? handle : null,
    details: { ...endDetails(end), ...outputDetails(collected) },
  };
}

export function judgeEnd(end: ExecutionEnd, killMs: number | null): Verdict {
  switch (end.kind) {
    case "exited":
      return judgeExit(end.exit, killMs);
    case "unknown":
      return { outcome: "unknown", headline: unknownHeadline(makeTextSafe(end.reason)) };
    case "forgotten":
      return { outcome: "unknown", headline: unknownHeadline("the box has no record of it") };
    case "unconfirmed":
      return { outcome: "unknown", headline: unknownHeadline("its end was not reported") };
  }
}

function judgeExit(exit: ExitFacts, killMs: number | null): Verdict {
  if (exit.reason === "spawn-failed") {
    return { outcome: "error", headline: `the command could not be started: ${makeTextSafe(exit.message)}` };
  }
  if (exit.timedOut || exit.reason === "timed-out") {
    const limit = killMs === null ? "its limit" : `${killMs / 1_000} s`;
    return {
      outcome: "error",
      headline: `timed out after ${limit}: the command and everything in its group was stopped`,
    };
  }
  return { outcome: "ok", headline: describeExit(exit) };
}

/** One line on how a process ended. */
export function describeExit(exit: ExitFacts): string {
  const why = exit.oomKilled ? " (out of memory)" : "";
  if (exit.signal !== null) return `ended by ${exit.signal}${why}`;
  if (exit.code === 127) return "exit code 127 (command not found)";
  if (exit.code === 126) return "exit code 126 (not executable)";
  return exit.code === null ? `ended without an exit code${why}` : `exit code ${exit.code}${why}`;
}

function judgeInterrupted(end: ExecutionEnd): Verdict {
  switch (end.kind) {
    case "exited":
      return {
        outcome: "interrupted",
        headline: `interrupted: the command was stopped (${describeExit(end.exit)}); its output so far:`,
      };
    case "forgotten":
      return {
        outcome: "interrupted",
        headline: "interrupted: the box has no record of the command, so there was nothing to stop",
      };
    case "unknown":
    case "unconfirmed":
      return {
        outcome: "interrupted",
        headline:
          "interrupted: the command was told to stop, but how it ended is not known; its output so far:",
      };
  }
}

function unknownHeadline(reason: string): string {
  return `outcome unknown (${reason}): the command may or may not have done its work. It was not run again. Check its effects before running it once more.`;
}

function endDetails(end: ExecutionEnd): JsonObject {
  if (end.kind !== "exited") return { end: end.kind };
  const { code, signal, timedOut, oomKilled, reason } = end.exit;
  return { end: "exited", exitCode: code, signal, timedOut, oomKilled, reason };
}

function outputDetails({ output, lossy, leftOpen }: CollectedExecution): JsonObject {
  const { totalBytes, totalLines, omittedBytes, omittedLines, lostBytes } = output;
  return { totalBytes, totalLines, omittedBytes, omittedLines, lostBytes, lossy, leftOpen };
}
