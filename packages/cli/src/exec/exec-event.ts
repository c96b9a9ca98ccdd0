/** What happens to a command in the box, read from the daemon's JSON, and the exit status that its end stands for. */
import { constants } from "node:os";
import { fieldsOf } from "../chat/feed-event.ts";

export type OutputName = "stdout" | "stderr";

export interface ExecEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

export type ExecEvent =
  | { readonly kind: "started"; readonly pid: number }
  | { readonly kind: "output"; readonly stream: OutputName; readonly bytes: Uint8Array }
  /** bytes that the daemon had to drop before they were read */
  | { readonly kind: "gap"; readonly stream: OutputName; readonly bytes: number }
  | { readonly kind: "exited"; readonly end: ExecEnd }
  /** no record of its end exists, and it is gone */
  | { readonly kind: "unknown"; readonly reason: string };

/** as `timeout` ends */
export const timedOutStatus = 124;
/** as a shell says that it couldn't start a program */
export const notStartedStatus = 127;
const signalStatusBase = 128;

export function readEvent(value: unknown): ExecEvent | undefined {
  const row = fieldsOf(value);
  if (row.started !== undefined) return { kind: "started", pid: Number(fieldsOf(row.started).pid ?? 0) };
  if (row.output !== undefined) return readOutput(fieldsOf(row.output));
  if (row.gap !== undefined) return readGap(fieldsOf(row.gap));
  if (row.exited !== undefined) return { kind: "exited", end: readEnd(fieldsOf(row.exited)) };
  if (row.unknown !== undefined)
    return { kind: "unknown", reason: textOf(fieldsOf(row.unknown).reason) ?? "" };
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function readOutput(output: Fields): ExecEvent {
  return {
    kind: "output",
    stream: streamOf(output),
    bytes: Buffer.from(textOf(output.data) ?? "", "base64"),
  };
}

function readGap(gap: Fields): ExecEvent {
  return { kind: "gap", stream: streamOf(gap), bytes: Number(gap.to ?? 0) - Number(gap.from ?? 0) };
}

function readEnd(exited: Fields): ExecEnd {
  return {
    code: typeof exited.code === "number" ? exited.code : null,
    signal: textOf(exited.signal) ?? null,
    timedOut: exited.timedOut === true,
  };
}

export function exitStatusOf(end: ExecEnd): number {
  if (end.timedOut) return timedOutStatus;
  if (end.code !== null) return end.code;
  const number = Object.entries(constants.signals).find(([name]) => name === end.signal)?.[1];
  return number === undefined ? notStartedStatus : signalStatusBase + number;
}

function streamOf(fields: Fields): OutputName {
  return fields.stream === "STREAM_STDERR" ? "stderr" : "stdout";
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
