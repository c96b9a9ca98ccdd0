/** One line for each hit: when, in which conversation, who, and the words around what was found. */
import { oneLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";
import type { Hit } from "./search-answers.ts";

const nameMaxChars = 24;
/** a hit's text is already one short line; this only keeps a foreign one from filling the screen */
const textMaxChars = 200;

export function renderHit(hit: Hit, agentName: string, { paint }: Pick<Terminal, "paint">): string {
  const when = paint("dim", timeOf(hit.timestampMs));
  const name = paint("bold", oneLine(agentName, nameMaxChars));
  return `${when}  ${name}  ${paint("cyan", oneLine(hit.label, nameMaxChars))}: ${oneLine(hit.text, textMaxChars)}`;
}

/** to the minute, in the zone of whoever reads it */
function timeOf(timestampMs: number): string {
  const at = new Date(timestampMs);
  if (Number.isNaN(at.getTime())) return "?";
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}
