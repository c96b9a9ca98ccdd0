import { expect, test } from "vitest";
import { historyArguments } from "./history-arguments.ts";

test.each(["{}", ' { "a" : 1.0 }\n', '{"n":12345678901234567890}', '{"t":"a\\nb\\u00e9"}', '{"a":1,"a":2}'])(
  "the object %j goes out byte for byte",
  (text) => {
    expect(historyArguments(text)).toBe(text);
  },
);

test.each(["", "  \n"])("the empty text %j goes out as an empty object", (text) => {
  expect(historyArguments(text)).toBe("{}");
});

test.each(["{", "[1]", "null", '"x"', "7", "{}{}", '{"__proto__":{"a":1}}', '{"x":{"constructor":{}}}'])(
  "%j, which is no object that everyone takes, goes out inside one",
  (text) => {
    expect(JSON.parse(historyArguments(text))).toEqual({ unparsedArguments: text });
  },
);

test("an escaped lone surrogate or NUL in a good object is replaced", () => {
  expect(historyArguments('{"a":"\\ud800","b":"\\u0000","c":"\\ud83d\\ude00"}')).toBe(
    '{"a":"\ufffd","b":"\ufffd","c":"😀"}',
  );
});

test("a lone surrogate in the text itself is replaced", () => {
  expect(JSON.parse(historyArguments('{"a":"\ud800"}'))).toEqual({ unparsedArguments: '{"a":"\ufffd"}' });
});
