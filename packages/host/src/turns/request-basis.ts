/**
 * Keeps what a request was built from, so that a replay can build it again: the system text and the tools, once for
 * each agent under their hash, and which turns of the history it held.
 */
import { createHash } from "node:crypto";
import type { ModelRequest, RequestBasis } from "@sand/agent-core";
import type { JsonValue } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import type { TurnContext } from "./turn-context.ts";

/** In the transaction of the intent that names it. */
export function keepBasis(tx: ChangeTx, context: TurnContext, request: ModelRequest): RequestBasis {
  const [first] = request.messages;
  const system = first?.role === "system" ? first.text : "";
  return {
    system: keepPart(tx, system),
    tools: keepPart(
      tx,
      request.tools.map((tool) => ({ ...tool })),
    ),
    fromGeneration: context.history?.[0]?.generation ?? null,
    messages: request.messages.length,
  };
}

function keepPart(tx: ChangeTx, value: JsonValue): string {
  const hash = hashPart(value);
  if (tx.getValue(requestPartKey(hash)) === undefined) tx.setValue(requestPartKey(hash), value);
  return hash;
}

/** SHA-256 of a text of requests, or of their tools, in hex. */
export function hashPart(value: JsonValue): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** where the agent's store keeps it */
export function requestPartKey(hash: string): string {
  return `requestPart:${hash}`;
}
