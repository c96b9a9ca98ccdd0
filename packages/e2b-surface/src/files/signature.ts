/**
 * A signed address lets somebody without the token read or write one path: `v1_` and the unpadded base64 of SHA-256
 * over path, operation, account, token and, when it ends, the second of its end. Pure.
 */
import { createHash } from "node:crypto";
import { equalTexts } from "../surface-settings.ts";

export type SignedOperation = "read" | "write";

export interface SignatureClaim {
  readonly path: string;
  readonly operation: SignedOperation;
  /** empty for the default account */
  readonly user: string;
  readonly signature: string;
  /** of the address, in seconds since 1970; undefined: it has no end */
  readonly expiration: string | undefined;
}

export type SignatureVerdict = "valid" | "missing" | "wrong" | "expired";

export function computeSignature(claim: Omit<SignatureClaim, "signature">, token: string): string {
  const parts = [claim.path, claim.operation, claim.user, token];
  const text = [...parts, ...(claim.expiration === undefined ? [] : [claim.expiration])].join(":");
  return `v1_${createHash("sha256").update(text, "utf8").digest("base64").replaceAll("=", "")}`;
}

export function judgeSignature(claim: SignatureClaim, token: string, nowMs: number): SignatureVerdict {
  if (claim.signature === "") return "missing";
  const isRight = equalTexts(claim.signature, computeSignature(claim, token));
  // An empty token would make every signature computable.
  if (!isRight || token === "") return "wrong";
  if (claim.expiration === undefined) return "valid";
  if (!/^\d{1,15}$/u.test(claim.expiration)) return "wrong";
  return Number(claim.expiration) * 1000 > nowMs ? "valid" : "expired";
}
