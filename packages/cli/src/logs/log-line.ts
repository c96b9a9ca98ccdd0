/** A line of a log, as its program wrote it and as a person reads it. What isn't JSON is shown as it stands. */
import { fieldsOf } from "../chat/feed-event.ts";
import { oneLine, plainText } from "../plain-text.ts";
import type { Paint, Style } from "../terminal.ts";

export interface LogLine {
  readonly source: string;
  readonly text: string;
  readonly record: Readonly<Record<string, unknown>> | undefined;
  /** for putting lines of several logs in order; a line without a time has that of the one before it */
  readonly atMs: number;
}

const sourceChars = 6;
const levelMarks: Readonly<Record<string, readonly [string, Style]>> = {
  10: ["trace", "dim"],
  20: ["debug", "dim"],
  30: ["info", "green"],
  40: ["warn", "yellow"],
  50: ["error", "red"],
  60: ["fatal", "red"],
};
const levelChars = 5;
/** said by the line's head, or the same in each line */
const headFields: ReadonlySet<string> = new Set(["level", "time", "pid", "hostname", "name", "event", "msg"]);
const valueMaxChars = 200;

export function readLogLine(source: string, text: string, beforeMs: number): LogLine {
  const record = parseRecord(text);
  const time = record?.time;
  const atMs = typeof time === "string" ? Date.parse(time) : Number(time ?? Number.NaN);
  return { source, text, record, atMs: Number.isFinite(atMs) ? atMs : beforeMs };
}

export function describeLogLine({ source, text, record, atMs }: LogLine, paint: Paint): string {
  const head = paint("dim", source.padEnd(sourceChars));
  if (record === undefined) return `${head}  ${plainText(text)}`;
  const [level, style] = levelMarks[String(record.level)] ?? ["", "dim"];
  const facts = Object.entries(record)
    .filter(([name]) => !headFields.has(name))
    .map(([name, value]) => `${name}=${describeValue(value)}`);
  const said = [record.event, record.msg].filter((one) => typeof one === "string").map(plainText);
  const time = Number.isFinite(atMs) ? new Date(atMs).toISOString() : "";
  return [
    paint("dim", time),
    head,
    paint(style, level.padEnd(levelChars)),
    ...said,
    ...(facts.length === 0 ? [] : [paint("dim", facts.join(" "))]),
  ].join("  ");
}

export function jsonOfLogLine({ source, text, record }: LogLine): unknown {
  return record === undefined ? { source, text } : { source, ...record };
}

function describeValue(value: unknown): string {
  const { message } = fieldsOf(value);
  const shown = typeof message === "string" ? message : value;
  return oneLine(typeof shown === "string" ? shown : JSON.stringify(shown), valueMaxChars);
}

function parseRecord(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    // Cut off, or something else that begins with a brace.
    return undefined;
  }
}
