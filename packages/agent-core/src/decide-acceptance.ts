/**
 * Accepts a prompt at most once for each nonce (INV-4).
 *
 * A client that timed out can't know whether we committed, so it sends the same nonce again. The same payload is
 * answered from the ledger; another payload under that nonce is a conflict, because picking either one would run a
 * prompt that the user didn't confirm.
 */
import type { PromptRow } from "./store-port.ts";

export type Acceptance =
  | { readonly kind: "fresh" }
  | { readonly kind: "repeated"; readonly row: PromptRow }
  | { readonly kind: "conflict"; readonly row: PromptRow };

export function decideAcceptance(seen: PromptRow | undefined, digest: string): Acceptance {
  if (seen === undefined) return { kind: "fresh" };
  return seen.digest === digest ? { kind: "repeated", row: seen } : { kind: "conflict", row: seen };
}
