/** Snapshots in the words of a person. */
import type { SnapshotFacts } from "@sand/store/box-store";
import { oneLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

const pathMaxChars = 100;
const skippedShownMax = 20;

export function describeBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? ""}`;
}

export function describeFacts({ entryCount, agentDirEntries, totalBytes }: SnapshotFacts): string {
  return `${entryCount} files of ${agentDirEntries} agents, ${describeBytes(totalBytes)}`;
}

/** What isn't in it as it is now must be seen, or a backup promises too much. */
export function noteSkipped(terminal: Terminal, { skipped }: SnapshotFacts): void {
  for (const { path, reason, keptEarlier } of skipped.slice(0, skippedShownMax)) {
    const kept = keptEarlier ? "its state of the snapshot before is kept" : "it is in no snapshot";
    terminal.note(`  ${oneLine(path, pathMaxChars)}: ${reason}; ${kept}`);
  }
  if (skipped.length > skippedShownMax) terminal.note(`  and ${skipped.length - skippedShownMax} more`);
}
