import { expect, test } from "vitest";
import { cutSnippet, snippetMaxChars } from "./cut-snippet.ts";

const filler = "lorem ipsum dolor sit amet ".repeat(40);

test("a short message is shown whole, on one line", () => {
  expect(cutSnippet("two\nlines\t here", "lines")).toBe("two lines here");
});

test("a long message is shown around the word, cut on both sides", () => {
  const snippet = cutSnippet(`${filler}needle ${filler}`, "needle");
  expect(snippet).toMatch(/^….*needle.*…$/u);
  expect(snippet.length).toBeLessThanOrEqual(snippetMaxChars + 2);
});

test("case and accents don't hide the word", () => {
  expect(cutSnippet(`${filler}CAFÉ au lait`, "cafe")).toContain("CAFÉ");
});

test("the beginning of a word is preferred to its inside", () => {
  expect(cutSnippet(`${filler}transcript ${filler} script here`, "script")).toContain("script here");
});

test("a word that isn't found shows the beginning", () => {
  expect(cutSnippet(`first words ${filler}`, "absent")).toMatch(/^first words/u);
});

test("no half character is shown", () => {
  const snippet = cutSnippet("😀".repeat(500), "none");
  expect(snippet.isWellFormed()).toBe(true);
});

test("a huge message costs no more than its beginning", () => {
  expect(cutSnippet(`${"x ".repeat(400_000)}needle`, "needle")).toMatch(/^x x/u);
});
