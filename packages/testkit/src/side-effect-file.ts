/**
 * The witness outside of all our stores: a file to which each command appends one line of its own. How often a line
 * stands in it is how often the effect happened, whatever the ledgers say.
 */
import { readFileSync } from "node:fs";

export function countEffects(path: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of readLines(path)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

export function readLines(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
  return text.split("\n").filter((line) => line !== "");
}
