/**
 * Rules over the text of a file that no linter has: its length, its name, and words that must not
 * be in it. Each rule names the reason where it reports, because a bare "forbidden" teaches nothing.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { listFiles } from "./list-files.mjs";

const code = /\.(ts|mjs|cjs)$/;
const test = /\.test\.(ts|mjs)$|(^|\/)test\//;
const linesMax = 300;
const testLinesMax = 500;

const bannedNames = /^(utils?|helpers?|common|manager|service|types|index)\.(ts|mjs|cjs)$/;
const packageDoor = /^packages\/[^/]+\/src\/index\.ts$/;

/** words are split, so that this file doesn't report itself */
const bannedWords = [
  {
    pattern: new RegExp(`\\bvi\\.(${"mock"}|${"doMock"})\\(`),
    rule: "modules are not patched; effects are parameters",
  },
  {
    pattern: new RegExp(`\\b(${"TO"}DO|${"FIX"}ME|${"X"}XX)\\b`),
    rule: "unfinished work is an issue, not a comment",
  },
  { pattern: new RegExp(`^\\s*export \\${"*"} from`, "m"), rule: "a door names what it exports" },
  {
    pattern: new RegExp(`\\bas ${"unknown"} as\\b`),
    rule: "a double assertion hides a wrong type",
    shippedOnly: true,
  },
  {
    pattern: new RegExp(`\\b(test|it|describe)\\.(${"only"}|${"skip"})\\(`),
    rule: "a test is run or removed; skipIf says why",
  },
];

/** @param {string} root @returns {{path: string, rule: string}[]} */
export function checkSources(root) {
  const findings = [];
  for (const path of listFiles(root)) {
    if (code.test(path)) findings.push(...codeFindings(root, path, readFileSync(join(root, path), "utf8")));
    else if (/\.(md|json|ya?ml|sh|proto)$/.test(path) && path !== "pnpm-lock.yaml") {
      findings.push(...pathFindings(root, path, readFileSync(join(root, path), "utf8")));
    }
  }
  return findings;
}

function codeFindings(root, path, text) {
  const rules = [];
  const lines = text.split("\n").length - 1;
  const max = test.test(path) ? testLinesMax : linesMax;
  if (lines > max) rules.push(`${lines} lines, at most ${max}: split it by concept`);
  if (bannedNames.test(basename(path)) && !packageDoor.test(path))
    rules.push("a file is named for its concept");
  if (
    /^packages\/[^/]+\/src\//.test(path) &&
    !/^(#!.*\n)?\/\*\*/.test(text) &&
    !packageDoor.test(path) &&
    !test.test(path)
  ) {
    rules.push("a file starts by saying why it exists");
  }
  for (const word of bannedWords) {
    if (word.shippedOnly && test.test(path)) continue;
    if (word.pattern.test(text)) rules.push(word.rule);
  }
  return [...rules.map((rule) => ({ path, rule })), ...pathFindings(root, path, text)];
}

/** Where this checkout lies is nobody else's business, and no other machine has it there. */
function pathFindings(root, path, text) {
  return text.includes(`${root}/`) ? [{ path, rule: "names a path of one machine" }] : [];
}
