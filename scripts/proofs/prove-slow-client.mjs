/** The bench of a client that never reads, as a proof: a missed bound is a finding, and a lost event ends it. */
import { benchSlowClient } from "../../bench/slow-client.mjs";

export async function proveSlowClient({ report }) {
  const lines = await benchSlowClient({ report });
  const figures = Object.fromEntries(lines.map(({ name, value, unit, raw }) => [name, { value, unit, raw }]));
  const findings = lines
    .filter(({ met }) => met === false)
    .map(({ name, value, unit, bound }) => `${name}: ${value} ${unit}, and the bound is ${bound}`);
  return { figures, findings };
}
