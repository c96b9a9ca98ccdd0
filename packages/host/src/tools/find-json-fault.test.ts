import { expect, test } from "vitest";
import { findJsonFault } from "./find-json-fault.ts";

const whole = '{"a": [1, -2.5e+3, true, null, "x\\u00e9\\n"], "b": {"c": {}}, "d": []}';

test("valid JSON has no fault", () => {
  for (const text of [whole, "{}", "[]", '"x"', " 1 ", "null", '{"a":[[],[{}]]}']) {
    expect([text, findJsonFault(text)]).toEqual([text, undefined]);
  }
});

test("every cut of a valid text is a fault at the end of the text", () => {
  for (let length = 0; length < whole.length; length += 1) {
    const cut = whole.slice(0, length);
    expect([cut, findJsonFault(cut)?.position]).toEqual([cut, length]);
  }
});

test("a wrong character is named by its position and what has to stand there", () => {
  const cases: readonly [text: string, position: number, expected: string][] = [
    ["{'a': 1}", 1, "a name in double quotes or }"],
    ['{"a" 1}', 5, "a colon"],
    ['{"a": 1 "b": 2}', 8, "a comma or the closing bracket"],
    ['{"a": 1,}', 8, "a name in double quotes"],
    ["[1,]", 3, "a value"],
    ["[1}", 2, "a comma or the closing bracket"],
    ['{"a": 1]', 7, "a comma or the closing bracket"],
    ["[01]", 2, "a comma or the closing bracket"],
    ["{} x", 3, "nothing more"],
    ['{"a": undefined}', 6, "a value"],
    ['"a\nb"', 2, "an escape in place of a control character in a string"],
    ['"a\\x"', 2, "a valid escape in a string"],
    ['"\\u12G4"', 1, "a valid escape in a string"],
    ["[1, // two\n2]", 4, "a value"],
    ["NaN", 0, "a value"],
  ];
  for (const [text, position, expected] of cases)
    expect([text, findJsonFault(text)]).toEqual([text, { position, expected }]);
});

test("the scanner and the parser agree on random damage", () => {
  let state = 12_345;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  const alphabet = '{}[]:,"\\ 01e.-truefalsn\nu';
  for (let round = 0; round < 2_000; round += 1) {
    const at = random(whole.length);
    const text = whole.slice(0, at) + alphabet.charAt(random(alphabet.length)) + whole.slice(at + random(2));
    expect([text, findJsonFault(text) === undefined]).toEqual([text, parses(text)]);
  }
});

test("a million open brackets are a fault and no crash", () => {
  expect(findJsonFault("[".repeat(1_000_000))?.position).toBe(1_000_000);
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
