/** Commands about the box store: where snapshots of the host's state are kept (contract gateway §3.5). */
import Type from "typebox";
import { built } from "./command-row.ts";
import { emptyRequest } from "./wire-shapes.ts";

const count = Type.Integer({ minimum: 0 });

export const boxStoreCommands = {
  getBoxStoreStatus: built(
    emptyRequest,
    Type.Object({
      /** the last snapshot was taken, and holds the state as far as it has been told of */
      durable: Type.Boolean(),
      fullyHydrated: Type.Optional(Type.Boolean()),
      entryCount: count,
      storeDbEntries: count,
      agentDirEntries: count,
      totalBytes: count,
      lastSnapshotAtMs: Type.Union([count, Type.Null()]),
      /** ours: why the last try failed */
      problem: Type.Optional(Type.Object({ failureCode: Type.String(), error: Type.String() })),
    }),
  ),
  snapshotBoxStoreNow: built(
    emptyRequest,
    Type.Object({
      snapshotId: Type.String(),
      /** false when nothing had changed since that snapshot */
      isNew: Type.Boolean(),
      takenAtMs: count,
      entryCount: count,
      totalBytes: count,
      uploadedBytes: count,
      skipped: Type.Array(
        Type.Object({ path: Type.String(), reason: Type.String(), keptEarlier: Type.Boolean() }),
      ),
    }),
  ),
  clearBoxStoreNow: built(emptyRequest, Type.Object({ removedObjects: count, removedBytes: count })),
} as const;
