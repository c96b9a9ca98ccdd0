/**
 * The operations that a failing disk is tried on. Each is a request under a nonce, or one that may be repeated without
 * harm, so that it can be sent again until it goes through.
 */
import { callGateway, fieldOf, type GatewayAccess, type GatewayReply, textOf } from "../gateway-client.ts";
import type { Promised, Repeatable } from "./disk-load.ts";

export const faultOperations = [
  "create",
  "prompt",
  "large prompt",
  "tool",
  "rename",
  "switch",
  "delete",
] as const;
export type FaultOperation = (typeof faultOperations)[number];

export interface PreparedOperation {
  readonly command: string;
  readonly body: object;
  /** what its answer of 200 promises */
  promises(answer: unknown): Promised | undefined;
  /** the agent whose turn goes on afterwards */
  readonly turnOf?: string;
  readonly repeatable?: Repeatable;
}

export interface OperationParts {
  readonly access: GatewayAccess;
  /** an agent that works */
  readonly agentId: string;
  /** occurs once in the whole sweep */
  readonly word: string;
  /** rises with each operation */
  readonly count: number;
}

/** more than lies in a row of the store, in characters */
const largeChars = 70_000;
const answerMaxMs = 60_000;

export async function prepareOperation(
  kind: FaultOperation,
  parts: OperationParts,
): Promise<PreparedOperation> {
  const { agentId, word, count } = parts;
  switch (kind) {
    case "create":
      return {
        command: "createAgent",
        body: creation(word),
        promises: (answer) => ({ kind: "agent", agentId: idOf(answer) }),
      };
    case "prompt":
      return prompting(agentId, word, `script:say ${word}`);
    case "large prompt":
      return prompting(agentId, word, `script:say ${word} ${"x".repeat(largeChars)}`);
    case "tool":
      return prompting(agentId, word, `script:run echo ${word}`);
    case "rename": {
      const name = `name-${word}-${count}`;
      return {
        command: "updateAgent",
        body: { id: agentId, profile: { name, description: "renamed" } },
        promises: () => ({ kind: "name", agentId, name }),
      };
    }
    case "switch":
      return {
        command: "setAgentNotificationsEnabled",
        body: { id: agentId, isEnabled: count % 2 === 0 },
        promises: () => undefined,
      };
    case "delete": {
      const made = await callGateway(parts.access, "createAgent", creation(word));
      const gone = made.kind === "answered" ? idOf(made.body) : "";
      return {
        command: "deleteAgent",
        body: { id: gone },
        promises: () => ({ kind: "deleted", agentId: gone }),
      };
    }
  }
}

function creation(word: string): object {
  return { name: `agent ${word}`, description: "on a failing disk", clientNonce: `create-${word}` };
}

function prompting(agentId: string, word: string, prompt: string): PreparedOperation {
  const nonce = `nonce-${word}`;
  const body = { agentId, prompt, clientNonce: nonce, whenBusy: "queue" };
  return {
    command: "sendPrompt",
    body,
    promises: () => ({ kind: "prompt", agentId, nonce }),
    turnOf: agentId,
    repeatable: { command: "sendPrompt", agentId, body },
  };
}

export const idOf = (answer: unknown): string => textOf(fieldOf(fieldOf(answer, "agent"), "id"));

/** Posts under a request id, by which the answer is found in what the host sent. */
export async function postNoted(
  access: GatewayAccess,
  { command, body }: Pick<PreparedOperation, "command" | "body">,
  requestId: string,
): Promise<GatewayReply> {
  try {
    const response = await fetch(`${access.url}/api/${command}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${access.token}`,
        "content-type": "application/json",
        "x-sand-request-id": requestId,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerMaxMs),
    });
    return { kind: "answered", status: response.status, body: JSON.parse(await response.text()) };
  } catch (error) {
    return { kind: "unreachable", reason: String(error) };
  }
}
