/**
 * Which agent a nonce went to, before the index has it on disk.
 *
 * A claim is seen at once and written with the next rows. It may be lost with this process: a prompt counts as accepted
 * by its row in the agent's store alone, and a start reads the nonces of every store that can have moved on since its
 * row was written. Until then the claim of a prompt that never came to be is harmless, for the store is asked.
 */
import { type AgentId, BoxError, type ClientNonce } from "@sand/protocol";
import type { IndexTx } from "./index-file.ts";

export interface NonceClaims {
  /** The newest claim counts. Refuses with `host/overloaded` when too many can't be written. */
  claim(nonce: ClientNonce, agentId: AgentId): void;
  find(nonce: ClientNonce): AgentId | undefined;
  /** forgets those of a removed agent */
  drop(agentId: AgentId): void;
  /** Writes what waits, in the transaction of the rows; `committed` or `undone` follows. */
  write(tx: Pick<IndexTx, "putNonce">): void;
  committed(): void;
  undone(): void;
  /** how many wait to be written */
  readonly waiting: number;
}

/** claims that may wait for an index that can't be written; far more than come between two writes */
export const claimsMax = 20_000;

export function createNonceClaims(): NonceClaims {
  let waiting = new Map<ClientNonce, AgentId>();
  /** in a transaction that isn't known to be committed yet */
  let underWay = new Map<ClientNonce, AgentId>();

  return {
    claim(nonce, agentId) {
      if (waiting.size >= claimsMax)
        throw new BoxError("host/overloaded", "too many prompts wait to be put into the index", {
          hint: "check the disk's space and health",
        });
      waiting.set(nonce, agentId);
    },
    find: (nonce) => waiting.get(nonce) ?? underWay.get(nonce),
    drop(agentId) {
      for (const claims of [waiting, underWay])
        for (const [nonce, owner] of claims) if (owner === agentId) claims.delete(nonce);
    },
    write(tx) {
      for (const [nonce, agentId] of waiting) tx.putNonce(nonce, agentId);
      underWay = waiting;
      waiting = new Map();
    },
    committed() {
      underWay = new Map();
    },
    undone() {
      // A claim that came meanwhile is the newer one.
      waiting = new Map([...underWay, ...waiting]);
      underWay = new Map();
    },
    get waiting() {
      return waiting.size;
    },
  };
}
