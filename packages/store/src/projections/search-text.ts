/**
 * How text becomes words of the index, and a person's query a question to it.
 *
 * The tokenizer takes a run of letters for a word. Scripts that write without spaces would become one word for each
 * sentence, so each of their characters is set apart, and what was a run in a query becomes a phrase of them.
 *
 * A query is data: whatever it holds, what comes out is a sequence of quoted strings, and nothing of it is syntax.
 */

/** words and phrases of a query that are looked for; further ones are ignored */
export const queryTermsMax = 16;
/** characters of one of them */
const termMaxChars = 256;
/** a shorter word is not also taken for the beginning of a longer one */
const prefixMinChars = 2;

const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{Extended_Pictographic}]/gu;
const hasToken = /[\p{L}\p{N}\p{Co}\p{So}]/u;
const endsInLetter = /[\p{L}\p{N}]$/u;

/** Text as a row of SQLite can hold it. */
export function storable(text: string): string {
  return text.replaceAll("\0", " ").toWellFormed();
}

export function separateWords(text: string): string {
  return text.replace(unspaced, " $& ");
}

/** The words and quoted phrases of a query that can be looked for. */
export function readTerms(query: string): readonly string[] {
  const parts = storable(query).matchAll(/"([^"]*)"|([^\s"]+)/gu);
  const terms: string[] = [];
  for (const [, phrase, word] of parts) {
    const term = (phrase ?? word ?? "").trim().slice(0, termMaxChars).toWellFormed();
    if (!hasToken.test(term)) continue;
    terms.push(term);
    if (terms.length === queryTermsMax) break;
  }
  return terms;
}

/** The question in FTS5's language, or nothing when the query has no word. A word still being typed matches by its beginning. */
export function toMatch(query: string): string | undefined {
  const terms = readTerms(query);
  const last = terms.at(-1);
  if (last === undefined) return undefined;
  const isOpen =
    last.length >= prefixMinChars && endsInLetter.test(last) && query.endsWith(last) && !unspacedEnd(last);
  return terms.map(quote).join(" ") + (isOpen ? "*" : "");
}

function unspacedEnd(term: string): boolean {
  return separateWords(term).endsWith(" ");
}

function quote(term: string): string {
  return `"${separateWords(term).replaceAll('"', '""')}"`;
}
