/** One process at a time works on the box stores of a data root. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { BoxError } from "@sand/protocol";
import { isLockedByOther, openForLocking } from "../sqlite.ts";
import { boxStoreFolder } from "./root-state.ts";

/** Throws `box-store/busy`. The kernel gives the lock up when its holder ends, however it ends. */
export function lockBoxStores(root: string): Disposable {
  mkdirSync(boxStoreFolder(root), { recursive: true, mode: 0o700 });
  const connection = openForLocking(join(boxStoreFolder(root), "lock.db"));
  try {
    connection.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    connection.close();
    if (!isLockedByOther(error)) throw error;
    throw new BoxError("box-store/busy", "another snapshot of this data root is being taken", {
      hint: "try again when it is done",
    });
  }
  return { [Symbol.dispose]: () => void connection.close() };
}
