/** `head.json` of a store: its owner and its list of snapshots. */
import { BoxError } from "@sand/protocol";
import type { HeadOwner } from "./decide-claim.ts";
import { snapshotLimits } from "./limits.ts";
import { type ObjectStore, storeKeys } from "./object-store.ts";
import { parseManifestKey, type SnapshotRow } from "./snapshot-manifest.ts";

export interface StoreHead extends HeadOwner {
  readonly claimedAtMs: number;
  readonly snapshots: readonly SnapshotRow[];
}

export async function readHead(
  store: ObjectStore,
): Promise<{ readonly head: StoreHead; readonly etag: string } | undefined> {
  const found = await store.get(storeKeys.head);
  if (found === undefined) return undefined;
  return { head: decodeHead(found.bytes), etag: found.etag };
}

export function encodeHead(head: StoreHead): Uint8Array {
  const { snapshots, ...owner } = head;
  const bytes = Buffer.from(
    JSON.stringify({ format: 1, ...owner, snapshots: snapshots.map(({ key }) => key) }),
    "utf8",
  );
  if (bytes.length > snapshotLimits.headMaxBytes) {
    throw new BoxError("box-store/refused", "the store has too many snapshots");
  }
  return bytes;
}

function decodeHead(bytes: Uint8Array): StoreHead {
  let value: unknown;
  try {
    if (bytes.length <= snapshotLimits.headMaxBytes) value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (cause) {
    throw damaged(cause);
  }
  const head = parseHead(value);
  if (head === undefined) throw damaged();
  return head;
}

function parseHead(value: unknown): StoreHead | undefined {
  if (typeof value !== "object" || value === null || !("format" in value) || value.format !== 1)
    return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const { epoch, ownerId, writeId, claimedAtMs, snapshots } = fields;
  if (typeof epoch !== "number" || typeof writeId !== "string" || typeof claimedAtMs !== "number")
    return undefined;
  if (!Array.isArray(snapshots) || (ownerId !== null && typeof ownerId !== "string")) return undefined;
  const rows = snapshots.map((key) => (typeof key === "string" ? parseManifestKey(key) : undefined));
  if (!rows.every((row) => row !== undefined)) return undefined;
  return { epoch, ownerId, writeId, claimedAtMs, snapshots: rows };
}

function damaged(cause?: unknown): BoxError {
  return new BoxError("box-store/damaged", "the head of the box store can't be read", {
    ...(cause === undefined ? {} : { cause }),
    hint: "its manifests are still there: move head.json away and they are found by their names",
  });
}
