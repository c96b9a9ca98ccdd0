/** What the gateway answers to a search, as far as `sand` needs it. */
export interface Hit {
  readonly agentId: string;
  readonly timestampMs: number;
  /** who wrote it, or what kind of file it is */
  readonly label: string;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface SearchStatus {
  readonly state: string;
  readonly agentsDone: number;
  readonly agentsTotal: number;
}

export function readHits(answer: unknown): readonly Hit[] {
  const rows: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return rows.map((row) => {
    const fields: Readonly<Record<string, unknown>> = Object(row);
    return {
      agentId: text(fields.agentId),
      timestampMs: number(fields.timestampMs),
      label: fields.role === undefined ? text(fields.kind) : fields.role === "user" ? "you" : "agent",
      text: fields.snippet === undefined ? text(fields.fileName) : text(fields.snippet),
      fields,
    };
  });
}

export function readSearchStatus(answer: unknown): SearchStatus {
  const fields: Readonly<Record<string, unknown>> = Object(answer);
  return {
    state: text(fields.state),
    agentsDone: number(fields.agentsDone),
    agentsTotal: number(fields.agentsTotal),
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
