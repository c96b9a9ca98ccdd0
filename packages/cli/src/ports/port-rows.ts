/** The daemon's answer about ports as rows: one for each port and process, however many addresses it listens on. */
import { fieldsOf } from "../chat/feed-event.ts";

export interface PortRow {
  readonly port: number;
  readonly addresses: readonly string[];
  readonly pid: number;
  readonly program: string;
  /** for people: whose it is */
  readonly owner: string;
}

export function readPortRows(answer: Readonly<Record<string, unknown>>): readonly PortRow[] {
  const rows = new Map<string, PortRow>();
  for (const raw of Array.isArray(answer.ports) ? answer.ports : []) {
    const { port, address, pid, name, owner } = fieldsOf(raw);
    if (typeof port !== "number" || typeof address !== "string") continue;
    const holder = typeof pid === "number" ? pid : 0;
    const key = `${port} ${holder}`;
    const known = rows.get(key);
    rows.set(key, {
      port,
      addresses: [...(known?.addresses ?? []), address],
      pid: holder,
      program: typeof name === "string" ? name : "",
      owner: describeOwner(fieldsOf(owner)),
    });
  }
  return [...rows.values()];
}

function describeOwner(owner: Readonly<Record<string, unknown>>): string {
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  if (owner.daemon === true) return "sand itself";
  if (text(owner.mcpServerId) !== "") return `MCP server ${text(owner.mcpServerId)}`;
  if (text(owner.processId) === "") return "";
  const agent = text(owner.agentId);
  return agent === "" ? `command ${text(owner.processId)}` : `command of agent ${agent}`;
}
