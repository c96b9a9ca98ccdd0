import { expect, test } from "vitest";
import { queryTermsMax, readTerms, separateWords, storable, toMatch } from "./search-text.ts";

const questions: readonly (readonly [query: string, match: string | undefined])[] = [
  ["", undefined],
  ["  \n ", undefined],
  ["!!! --- ()", undefined],
  ["hello", '"hello"*'],
  ["hello ", '"hello"'],
  ["a", '"a"'],
  ["hello world", '"hello" "world"*'],
  ['"exact phrase" word', '"exact phrase" "word"*'],
  ['"exact phrase"', '"exact phrase"'],
  ['unclosed "quote', '"unclosed" "quote"*'],
  ["foo-bar", '"foo-bar"*'],
  ["NEAR(a b) AND x* OR -y:z ^q {w}", '"NEAR(a" "b)" "AND" "x*" "OR" "-y:z" "^q" "{w}"'],
  ["你好", '" 你  好 "'],
  ["abc你", '"abc 你 "'],
  ["great👍", '"great 👍 "'],
  ["a\0b", '"a" "b"'],
  ["\ud800", `"\ufffd"`],
];

test.each(questions)("a query is words and nothing of it is syntax: %j", (query, match) => {
  expect(toMatch(query)).toBe(match);
});

test("a query's terms are bounded in number and length", () => {
  expect(readTerms("word ".repeat(1_000))).toHaveLength(queryTermsMax);
  expect(readTerms("x".repeat(10_000))[0]).toHaveLength(256);
});

test("characters of scripts without spaces are words of their own, others stay together", () => {
  expect(separateWords("ab 日本 cd").split(/\s+/u)).toEqual(["ab", "日", "本", "cd"]);
});

test("text that SQLite can't hold is replaced", () => {
  expect(storable("a\0b\ud800")).toBe("a b\ufffd");
});
