/** Cuts a scripted text into the pieces of its deltas, at code points: no provider tears a pair into two deltas. */
export function splitText(text: string, chars: number): readonly string[] {
  const points = Array.from(text);
  const count = Math.ceil(points.length / chars);
  return Array.from({ length: count }, (_, at) => points.slice(at * chars, (at + 1) * chars).join(""));
}

/** characters in a delta when a script names no number */
export const defaultDeltaChars = 16;
