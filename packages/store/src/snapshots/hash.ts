/** SHA-256 in hex, the name of every object. */
import { createHash } from "node:crypto";

export function sha256Of(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function isSha256(text: unknown): text is string {
  return typeof text === "string" && /^[0-9a-f]{64}$/u.test(text);
}
