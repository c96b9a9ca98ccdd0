/** A blob's name is the SHA-256 of its bytes, so what is read can be checked against what was asked for. */
import { hash } from "node:crypto";
import { BoxError } from "@sand/protocol";

export function blobIdOf(data: Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** The bytes, when they are the blob's. Nothing is presented as a payload that isn't the one that was stored. */
export function verifiedBlob(id: string, data: Uint8Array | undefined): Uint8Array {
  if (data === undefined) throw damagedBlob(id, "is missing");
  if (blobIdOf(data) !== id) throw damagedBlob(id, "is not what was stored");
  return data;
}

function damagedBlob(id: string, what: string): BoxError {
  return new BoxError("store/damaged", `a stored payload ${what}`, {
    hint: "restore the agent's folder from a copy",
    details: { blob: id },
  });
}
