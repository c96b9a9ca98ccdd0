/** What is different between two lists of entries: pure. A file that is gone and one that came with its content is one that was renamed. */
import { DiffStatus, FileType } from "@sand/protocol/exec";
import type { RawPath } from "../raw-path.ts";
import type { CheckpointEntry } from "./checkpoint-records.ts";

export interface TreeDifference {
  readonly status: DiffStatus;
  readonly path: RawPath;
  /** undefined: there was none, or is none */
  readonly before: CheckpointEntry | undefined;
  readonly after: CheckpointEntry | undefined;
}

export function compareTrees(
  before: readonly CheckpointEntry[],
  after: readonly CheckpointEntry[],
): readonly TreeDifference[] {
  const old = new Map(before.filter(isContent).map((entry) => [entry.path, entry]));
  const present = after.filter(isContent);
  const names = new Set(present.map(({ path }) => path));
  const gone = new Map<string, CheckpointEntry>();
  for (const entry of old.values())
    if (!names.has(entry.path) && entry.size > 0) gone.set(entry.sha256, entry);
  const renamed = new Set<RawPath>();
  const found: TreeDifference[] = [];
  for (const entry of present) {
    const { path } = entry;
    const same = old.get(path);
    if (same !== undefined) {
      if (!isSame(same, entry))
        found.push({ status: statusOf(same, entry), path, before: same, after: entry });
      continue;
    }
    const source = gone.get(entry.sha256);
    if (source === undefined || source.type !== entry.type) {
      found.push({ status: DiffStatus.ADDED, path, before: undefined, after: entry });
      continue;
    }
    gone.delete(entry.sha256);
    renamed.add(source.path);
    found.push({ status: DiffStatus.RENAMED, path, before: source, after: entry });
  }
  for (const entry of old.values())
    if (!names.has(entry.path) && !renamed.has(entry.path))
      found.push({ status: DiffStatus.REMOVED, path: entry.path, before: entry, after: undefined });
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** As git sees it: folders are where files are. */
function isContent({ type }: CheckpointEntry): boolean {
  return type === FileType.FILE || type === FileType.SYMLINK;
}

function isSame(one: CheckpointEntry, other: CheckpointEntry): boolean {
  return one.type === other.type && one.sha256 === other.sha256 && one.mode === other.mode;
}

function statusOf(before: CheckpointEntry, after: CheckpointEntry): DiffStatus {
  return before.type === after.type ? DiffStatus.MODIFIED : DiffStatus.TYPE_CHANGED;
}
