/** Which snapshot a person means: the newest, one by its id, or the newest that was taken at or before a time. */
import { BoxError } from "@sand/protocol";
import type { SnapshotRow } from "./snapshot-manifest.ts";

export function chooseSnapshot(rows: readonly SnapshotRow[], at: string | undefined): SnapshotRow {
  const chosen = at === undefined ? rows.at(-1) : (findById(rows, at) ?? findByTime(rows, at));
  if (chosen !== undefined) return chosen;
  const message = rows.length === 0 ? "the box store has no snapshots" : `there is no snapshot at ${at}`;
  throw new BoxError("box-store/not-found", message, { hint: "`sand restore --list` shows what there is" });
}

function findById(rows: readonly SnapshotRow[], id: string): SnapshotRow | undefined {
  return rows.find((row) => row.id === id);
}

function findByTime(rows: readonly SnapshotRow[], text: string): SnapshotRow | undefined {
  const atMs = /^\d{12,15}$/u.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(atMs)) {
    throw new BoxError(
      "box-store/not-found",
      `${JSON.stringify(text)} is neither a snapshot's id nor a time`,
      {
        hint: "a time is written as in 2026-11-30T18:00:00Z",
      },
    );
  }
  return [...rows].reverse().find((row) => row.takenAtMs <= atMs);
}
