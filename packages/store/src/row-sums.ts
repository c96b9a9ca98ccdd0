/**
 * The checksum that a row carries over what it says.
 *
 * SQLite notices a damaged structure, and never a damaged value: a byte that flips within a text is read as if it had
 * been written. So each row has a sum over its values and its place, and what doesn't match it isn't shown. Rows from
 * before there were sums have none, and are believed as they were before.
 */
import { crc32 } from "node:zlib";
import { BoxError } from "@sand/protocol";

/** Over the row's short values in their order, and its one long text. Signed, since SQLite keeps that in four bytes. */
export function rowSum(values: readonly (string | number | null)[], text = ""): number {
  // A damaged row may lack what its table demands; the library's types don't know of that.
  if (typeof text !== "string") throw damagedRow("its text is missing");
  return crc32(text, crc32(values.join("\u001f"))) | 0;
}

/** tells errors of a row apart from others that have the same code, such as records that contradict each other */
const rowErrors = new WeakSet<object>();

export function damagedRow(where: string): BoxError {
  const error = new BoxError("store/damaged", `a row of the store isn't what was written: ${where}`, {
    hint: "restore the file from a copy, or move it away",
  });
  rowErrors.add(error);
  return error;
}

export function isDamagedRow(error: unknown): boolean {
  return typeof error === "object" && error !== null && rowErrors.has(error);
}

/** `stored` is `null` in a row from before there were sums. */
export function checkSum(where: string, stored: number | null, computed: number): void {
  if (stored !== null && stored !== computed) throw damagedRow(where);
}
