/** Benches as a proof: a missed bound is a finding. */

/**
 * @param {readonly ((run: {rounds: number, report: (line: string) => void}) => Promise<readonly any[]>)[]} benches
 * @param {{rounds: number, report: (line: string) => void}} run
 */
export async function proveBenches(benches, run) {
  const lines = [];
  for (const bench of benches) lines.push(...(await bench(run)));
  const figures = Object.fromEntries(lines.map(({ name, value, unit, raw }) => [name, { value, unit, raw }]));
  const findings = lines
    .filter(({ met }) => met === false)
    .map(({ name, value, unit, bound }) => `${name}: ${value} ${unit}, and the bound is ${bound}`);
  return { figures, findings };
}
