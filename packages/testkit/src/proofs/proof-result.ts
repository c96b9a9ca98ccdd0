/** What every proof hands back: figures for the record, and findings that make it fail. */
export interface ProofResult {
  readonly figures: Readonly<Record<string, number | string>>;
  /** sentences, one for each breach of the rule; none means proved */
  readonly findings: readonly string[];
}

/** Collects findings without ending at the first one. */
export interface Findings {
  readonly list: readonly string[];
  /** notes `sentence` unless `holds` */
  expect(holds: boolean, sentence: string): void;
}

/** a proof that fails everywhere says so in some sentences, not in a hundred thousand */
const findingsMax = 200;

export function collectFindings(): Findings {
  const list: string[] = [];
  return {
    list,
    expect(holds, sentence) {
      if (!holds && list.length < findingsMax) list.push(sentence);
    },
  };
}
