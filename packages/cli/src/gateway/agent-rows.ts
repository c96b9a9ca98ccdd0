/** The roster, and which agent a person means by a word: its id, or its name. */
import { CommandFailure } from "../command-failure.ts";
import type { GatewayClient } from "./gateway-client.ts";

export interface AgentRow {
  readonly id: string;
  readonly name: string;
  readonly isRunning: boolean;
  readonly isActive: boolean;
  readonly lastMessagePreview: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

export async function listAgentRows(
  client: GatewayClient,
  signal?: AbortSignal,
): Promise<readonly AgentRow[]> {
  const value = await client.call("listAgents", {}, signal);
  const rows: readonly unknown[] = Array.isArray(value) ? value : [];
  return rows.map(parseAgentRow).filter((row) => row !== undefined);
}

export function parseAgentRow(value: unknown): AgentRow | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  if (typeof fields.id !== "string" || typeof fields.name !== "string") return undefined;
  return {
    id: fields.id,
    name: fields.name,
    isRunning: fields.isRunning === true,
    isActive: fields.isActive === true,
    lastMessagePreview: typeof fields.lastMessagePreview === "string" ? fields.lastMessagePreview : null,
    fields,
  };
}

export async function findSummary(
  client: GatewayClient,
  agentId: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const rows = await listAgentRows(client, signal);
  return rows.find((row) => row.id === agentId)?.fields;
}

export type AgentChoice =
  | { readonly kind: "one"; readonly agent: AgentRow }
  | { readonly kind: "none" }
  | { readonly kind: "many"; readonly agents: readonly AgentRow[] };

/** An id wins over a name, and a name with the same capitals over one without. */
export function chooseAgent(rows: readonly AgentRow[], word: string): AgentChoice {
  const byId = rows.find((row) => row.id === word);
  if (byId !== undefined) return { kind: "one", agent: byId };
  const exact = rows.filter((row) => row.name === word);
  const found =
    exact.length > 0 ? exact : rows.filter((row) => row.name.toLowerCase() === word.toLowerCase());
  const [first] = found;
  if (first === undefined) return { kind: "none" };
  return found.length === 1 ? { kind: "one", agent: first } : { kind: "many", agents: found };
}

export function ambiguous(word: string, agents: readonly AgentRow[]): CommandFailure {
  return new CommandFailure("usage", `${agents.length} agents are called "${word}"`, {
    hint: `name one by its id: ${agents.map((agent) => agent.id).join(", ")}`,
  });
}

/** The agent that `word` names, or the failure that says why there is none. */
export async function requireAgent(client: GatewayClient, word: string): Promise<AgentRow> {
  const choice = chooseAgent(await listAgentRows(client), word);
  switch (choice.kind) {
    case "one":
      return choice.agent;
    case "many":
      throw ambiguous(word, choice.agents);
    case "none":
      throw new CommandFailure("notFound", `there is no agent "${word}"`, {
        hint: "see sand agents list, or make it: sand agents create <name>",
      });
  }
}

export async function createAgent(
  client: GatewayClient,
  name: string,
  description: string,
  title?: string,
): Promise<AgentRow> {
  const value = await client.call("createAgent", {
    ...{ name, description, clientNonce: crypto.randomUUID() },
    ...(title === undefined ? {} : { title }),
  });
  const wrapped = typeof value === "object" && value !== null && "agent" in value ? value.agent : value;
  const row = parseAgentRow(wrapped);
  if (row === undefined)
    throw new CommandFailure("serverError", "the host's answer to createAgent names no agent");
  return row;
}
