/** What `run-attacks.mjs` says, as types, and the two questions that every run of it is asked. */
export interface AttackResult {
  readonly name: string;
  readonly group: string;
  readonly breached: boolean;
  readonly evidence: string;
}

export interface AttackReport {
  readonly results: readonly AttackResult[];
  readonly work: readonly { readonly name: string; readonly ok: boolean; readonly evidence: string }[];
  readonly phantoms: { readonly before: string; readonly after: string };
}

/** The report is the last line of the output. */
export function readReport(output: string): AttackReport {
  // Written by our own program just now.
  return JSON.parse(output.trim().split("\n").at(-1) ?? "") as AttackReport;
}

/** Empty when every attack was contained, everyday work works, and nothing was left behind. */
export function findingsOf({ results, work, phantoms }: AttackReport): readonly string[] {
  return [
    ...results.filter((one) => one.breached).map(({ name, evidence }) => `${name}: ${evidence}`),
    ...work.filter((one) => !one.ok).map(({ name, evidence }) => `doesn't work: ${name}: ${evidence}`),
    ...(phantoms.before === phantoms.after ? [] : [`left behind: ${phantoms.after}`]),
  ];
}

/** How many attacks of each group succeeded. */
export function countBreaches({ results }: AttackReport): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { group, breached } of results) counts[group] = (counts[group] ?? 0) + (breached ? 1 : 0);
  return counts;
}
