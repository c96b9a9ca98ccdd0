import { expect, test } from "vitest";
import { stripQuestions } from "./strip-questions.ts";

const strip = (text: string): string => stripQuestions(Buffer.from(text)).toString();

test.each([
  ["\u001b[6n", "\u001b[5n", "\u001b[?6n", "\u001b[c", "\u001b[0c", "\u001b[>c", "\u001b[=c"],
  ["\u001b[?2026$p", "\u001b[>0q", "\u001b[>q", "\u001b[18t", "\u001bZ", "\u001bP$qm\u001b\\"],
  ["\u001b]10;?\u0007", "\u001b]11;?\u001b\\", "\u001b]4;7;?\u0007", "\u001b]52;c;?\u0007"],
])("a question to the terminal is taken out: %j …", (...all) => {
  for (const question of all) expect(strip(`a${question}b`)).toBe("ab");
});

test.each([
  ["\u001b[31m red \u001b[0m", "\u001b[2J\u001b[H", "\u001b[?25l", "\u001b[?2004h", "\u001b[5;10H"],
  ["\u001b]0;a title\u0007", "\u001b]11;#ffffff\u0007", "größer 你", "\u001b[4;1r", "\u001b[22;0;0t"],
])("what only draws stays as it is: %j …", (...all) => {
  for (const text of all) expect(strip(text)).toBe(text);
});
