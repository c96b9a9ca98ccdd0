/** Keeps a host and a backup away from a data root that a restore has filled in part only. */
import { BoxError } from "@sand/protocol";
import { readRootState } from "./root-state.ts";

/** Throws `box-store/incomplete` for a root whose restore was interrupted. Costs one look where there was none. */
export function refusePartialRoot(root: string): void {
  const { hydration } = readRootState(root);
  if (hydration.state !== "partial") return;
  const { store, snapshotId } = hydration.from;
  throw new BoxError(
    "box-store/incomplete",
    "a restore into this data root was interrupted, so much of it is missing",
    { hint: `finish it: sand restore --from ${store.replace(/^(s3:\S+) at .*$/u, "$1")} --at ${snapshotId}` },
  );
}
