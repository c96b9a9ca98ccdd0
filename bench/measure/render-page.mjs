/** Writes the page of results: a table for each bench, with the command that makes it. */
import { availableParallelism } from "node:os";

const head = `# Benchmarks

Each figure is the median of interleaved rounds on one machine: base line and ours take turns, so that whatever else
the machine does falls on both. A ratio is the median of the rounds' own ratios. The base lines in \`bench/baseline/\`
import nothing of ours. Absolute times say more about the machine than about the program; on a machine that does other
work only the ratios mean anything. The raw figures are in the last column, in order of the rounds.

\`pnpm build && pnpm bench\` runs all of them, and writes this page.
`;

function row({ name, value, unit, bound, met, raw }) {
  const claim = bound === undefined ? "" : `${bound}${met === null ? "" : met ? " ✓" : " — missed"}`;
  return `| ${name} | ${value}${unit === "" ? "" : ` ${unit}`} | ${claim} | ${raw.join(", ")} |`;
}

function section([name, { about }], result) {
  const made = `\`pnpm bench ${name}\`, ${result.date}, ${result.rounds} rounds, ${availableParallelism()} processors.`;
  const table = ["| what | median | claim | rounds |", "|---|---|---|---|", ...result.lines.map(row)];
  return [`## ${name}`, "", about, "", made, "", ...table, ""].join("\n");
}

export function renderPage(benches, results) {
  const sections = Object.entries(benches)
    .filter(([name]) => results[name] !== undefined)
    .map((bench) => section(bench, results[bench[0]]));
  return `${[head, ...sections].join("\n").trimEnd()}\n`;
}
