/** Medians and ratios, and the numbers as they are printed. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function round(value) {
  if (!Number.isFinite(value)) return value;
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/**
 * One line of a result: `value` is the median of `raw`, or of the ratios of each round's pair. `bound` is the text of
 * the claim and `met` whether it holds.
 */
export function line(name, raw, { bound, met, unit = "" }) {
  const value = median(raw);
  return {
    name,
    value: round(value),
    unit,
    raw: raw.map(round),
    bound,
    met: met === undefined ? null : met(value),
  };
}
