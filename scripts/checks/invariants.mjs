/**
 * Every invariant that docs/ARCHITECTURE.md numbers is cited in the code that keeps it and in the
 * title of at least one test; and nothing cites a number that isn't listed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listFiles } from "./list-files.mjs";

const document = "docs/ARCHITECTURE.md";
const number = /\bINV-\d+\b/g;
const listed = /^(?:[-*]\s+|#+\s+|\|\s*)?\**\s*(INV-\d+)\b/gm;
const source = /^packages\/.*\.(ts|mjs)$/;
const test = /\.test\.(ts|mjs)$/;
const title = /\b(?:test|it|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*(["'`])((?:(?!\1).)*)\1/g;

/** @param {string} root @returns {{path: string, rule: string}[]} */
export function checkInvariants(root) {
  if (!existsSync(join(root, document))) return [];
  const text = readFileSync(join(root, document), "utf8");
  const known = new Set([...text.matchAll(listed)].map((match) => match[1]));
  const inCode = new Set();
  const inTests = new Set();
  const findings = [];
  for (const path of listFiles(root)) {
    const isTest = test.test(path);
    if (!isTest && !source.test(path)) continue;
    const body = readFileSync(join(root, path), "utf8");
    const cited = isTest ? titlesOf(body).match(number) : body.match(number);
    for (const id of cited ?? []) {
      (isTest ? inTests : inCode).add(id);
      if (!known.has(id)) findings.push({ path, rule: `cites ${id}, which ${document} doesn't list` });
    }
  }
  for (const id of known) {
    if (!inCode.has(id)) findings.push({ path: document, rule: `${id} is cited nowhere in the code` });
    if (!inTests.has(id)) findings.push({ path: document, rule: `${id} is in no test's title` });
  }
  return findings;
}

function titlesOf(text) {
  return [...text.matchAll(title)].map((match) => match[2]).join("\n");
}
