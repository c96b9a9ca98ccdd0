/** How the demo speaks: numbered acts, and under each what was seen, with the time since the start. */
const startedMs = Date.now();
const colored = process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "";
const paint = (code, text) => (colored ? `\u001b[${code}m${text}\u001b[0m` : text);
let acts = 0;

/** What isn't as it should be: the demo's own words, instead of a stack. */
export class Disproved extends Error {}

export function act(title) {
  acts += 1;
  process.stdout.write(`\n${paint(1, `${acts}. ${title}`)}\n`);
}

export function tell(text) {
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1).padStart(5);
  process.stdout.write(`   ${paint(2, `${seconds}s`)}  ${text}\n`);
}

export function quote(text) {
  for (const line of text.replace(/\n$/, "").split("\n")) tell(paint(36, `│ ${line}`));
}

export function good(text) {
  tell(`${paint(32, "✓")} ${text}`);
}

/** Goes on only when `condition` holds. */
export function prove(condition, whatHolds, seen) {
  if (!condition)
    throw new Disproved(
      `expected: ${whatHolds}${seen === undefined ? "" : `; seen: ${JSON.stringify(seen)}`}`,
    );
  good(whatHolds);
}

export function fail(text) {
  process.stdout.write(`\n${paint(31, "The demo did not come out as it should:")}\n   ${text}\n`);
}
