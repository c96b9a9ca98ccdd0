/** What the host last saved, remembered over a restart: one small file in the data root, which may be lost. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";
import type { SnapshotFacts } from "@sand/store/box-store";

type Numbers = Omit<SnapshotFacts, "id" | "skipped">;

export interface LastSnapshot extends Numbers {
  /** the store that it is in */
  readonly store: string;
}

function fileOf(dataRoot: string): string {
  return join(dataRoot, "box-store", "last.json");
}

/** `undefined` as well when another store is configured now */
export function readLastSnapshot(dataRoot: string, store: string): LastSnapshot | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(fileOf(dataRoot), "utf8"));
    if (typeof value !== "object" || value === null) return undefined;
    const fields: Readonly<Record<string, unknown>> = { ...value };
    const count = (name: keyof Numbers): number => {
      const found = fields[name];
      return typeof found === "number" && found >= 0 ? found : 0;
    };
    if (fields.store !== store) return undefined;
    return {
      store,
      takenAtMs: count("takenAtMs"),
      entryCount: count("entryCount"),
      storeDbEntries: count("storeDbEntries"),
      agentDirEntries: count("agentDirEntries"),
      totalBytes: count("totalBytes"),
    };
  } catch {
    // None was taken yet, or it can't be told any more: the next one tells again.
    return undefined;
  }
}

export function writeLastSnapshot(dataRoot: string, store: string, facts: SnapshotFacts): void {
  const { id: _id, skipped: _skipped, ...numbers } = facts;
  writeFileAtomicSync(fileOf(dataRoot), `${JSON.stringify({ store, ...numbers })}\n`);
}

export function forgetLastSnapshot(dataRoot: string): void {
  rmSync(fileOf(dataRoot), { force: true });
}
