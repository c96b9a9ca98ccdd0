/**
 * The piece of a message that a hit shows: one line around the first word that was looked for, without markup.
 *
 * The place is found by a plain search, which doesn't know all that the index takes for equal; where it finds nothing,
 * the beginning is shown.
 */
import { readTerms } from "./search-text.ts";

export const snippetMaxChars = 160;
/** shown before the word that was found */
const leadChars = 48;
/** how far into a message its word is looked for */
export const snippetScanMaxChars = 65_536;

export function cutSnippet(body: string, query: string): string {
  const text = body.slice(0, snippetScanMaxChars);
  const found = findFirst(text, readTerms(query));
  const from = found <= leadChars ? 0 : wordStart(text, found - leadChars, found);
  const to = from + snippetMaxChars;
  const line = wholeCharacters(text.slice(from, to)).replace(/\s+/gu, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${to < body.length ? "…" : ""}`;
}

/** A snippet that begins inside a word reads badly, unless the word is longer than what may be left out. */
function wordStart(text: string, from: number, until: number): number {
  const space = text.slice(from, until).search(/\s/u);
  return space === -1 ? from : from + space + 1;
}

/** Half a surrogate pair at either end is left out. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\udc00-\udfff]/u, "").replace(/[\ud800-\udbff]$/u, "");
}

function findFirst(text: string, terms: readonly string[]): number {
  const plain = text.toLowerCase();
  // Lower case may be longer; then places in it are not places in the text.
  const direct = plain.length === text.length ? earliest(plain, terms, (word) => word.toLowerCase()) : -1;
  if (direct >= 0) return direct;
  const { folded, places } = fold(text.slice(0, foldMaxChars));
  const found = earliest(folded, terms, (word) => fold(word).folded);
  return found < 0 ? 0 : (places[found] ?? 0);
}

/** the slow search is kept to the beginning of a message */
const foldMaxChars = 4_096;

function earliest(text: string, terms: readonly string[], shape: (word: string) => string): number {
  const found = terms
    .flatMap((term) => term.match(/[\p{L}\p{N}\p{Co}\p{So}\p{M}]+/gu) ?? [])
    .map((word) => indexOfWord(text, shape(word)))
    .filter((at) => at >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

const letter = /[\p{L}\p{N}]/u;
/** places of a word inside longer ones that are passed over */
const insideMax = 200;

/** The first place where `word` begins a word, else the first of all. */
function indexOfWord(text: string, word: string): number {
  if (word === "") return -1;
  const first = text.indexOf(word);
  let at = first;
  for (let seen = 0; at > 0 && seen < insideMax; seen += 1) {
    if (!letter.test(text.charAt(at - 1))) return at;
    at = text.indexOf(word, at + 1);
  }
  return at === 0 ? 0 : first;
}

/** Without case and accents; `places` tells where each character came from. */
function fold(text: string): { readonly folded: string; readonly places: readonly number[] } {
  const places: number[] = [];
  let folded = "";
  let at = 0;
  for (const character of text) {
    const plain = character.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    for (let unit = 0; unit < plain.length; unit += 1) places.push(at);
    folded += plain;
    at += character.length;
  }
  return { folded, places };
}
