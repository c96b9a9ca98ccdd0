import type { JsonObject } from "@sand/protocol";
import { expect, test } from "vitest";
import { parseArguments } from "./parse-arguments.ts";

const parameters: JsonObject = {
  type: "object",
  required: ["command"],
  properties: {
    command: { type: "string", minLength: 1 },
    timeoutMs: { type: "integer", minimum: 1 },
    paths: { type: "array", items: { type: "string" } },
  },
  additionalProperties: false,
};

function refusal(argsText: string): string {
  const parsed = parseArguments(argsText, parameters);
  if (parsed.ok) throw new Error(`was taken: ${argsText}`);
  return parsed.text;
}

test("valid arguments are taken as they are", () => {
  expect(parseArguments('{"command": "echo \\u00e9", "timeoutMs": 5}', parameters)).toEqual({
    ok: true,
    args: { command: "echo é", timeoutMs: 5 },
  });
});

test("cut-off arguments are told as such, with their last characters and nothing run", () => {
  const parsed = parseArguments('{"command": "rm -rf bui', parameters);
  expect(parsed).toEqual({
    ok: false,
    text:
      "The arguments are not valid JSON: they end at position 23, where the closing quote of a string has to follow, so they were " +
      'probably cut off; they end with "{\\"command\\": \\"rm -rf bui". The tool was not run. Send the call again.',
    details: { argumentFault: "json", position: 23, cutOff: true },
  });
});

test("malformed arguments are told with position, line, column and a short excerpt of both sides", () => {
  const text = refusal(`{"command": "x",\n  "timeoutMs" 5${" ".repeat(500)}}`);
  expect(text).toContain("expected a colon at position 31 (line 2, column 15)");
  expect(text).toContain('"timeoutMs\\" ", but found "5 ');
  expect(text.length).toBeLessThan(300);
});

test("every wrong field is named by its path", () => {
  const cases: readonly [argsText: string, part: string][] = [
    ["{}", "command is missing"],
    ['{"command": 3}', "command must be string"],
    ['{"command": "x", "timeoutMs": 1.5}', "timeoutMs must be integer"],
    ['{"command": "x", "paths": ["a", 1]}', "paths[1] must be string"],
    ['{"command": "x", "cmd": 1}', 'unknown field "cmd"'],
    ['{"command": "x", "__proto__": {}}', 'unknown field "__proto__"'],
    ["[]", "must be object"],
    ["null", "must be object"],
    ["", "The arguments are empty"],
    ["  \n", "The arguments are empty"],
  ];
  for (const [argsText, part] of cases) expect(refusal(argsText)).toContain(part);
});

test("only a few of many wrong fields are named, and the rest is said to exist", () => {
  const fields = Array.from({ length: 40 }, (_, index) => `"f${index}": 1`);
  expect(refusal(`{"command": "x", ${fields.join(", ")}}`)).toContain('unknown field "f4"; and more');
});

test("a NUL or half of a surrogate pair in a field is refused by name and never passed on", () => {
  for (const argsText of [
    '{"command": "a\\u0000b"}',
    '{"command": "a\\ud800b"}',
    '{"command": "x", "paths": ["\\udc00"]}',
  ]) {
    const parsed = parseArguments(argsText, parameters);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? "" : parsed.details.argumentFault).toBe("unsafe-text");
  }
  expect(refusal('{"command": "x", "paths": ["\\udc00"]}')).toContain("paths.0 holds");
});

test("a whole surrogate pair is an ordinary character", () => {
  expect(parseArguments('{"command": "\\ud83d\\ude00"}', parameters)).toEqual({
    ok: true,
    args: { command: "😀" },
  });
});

test("the refusal itself is safe to store and send, whatever was received", () => {
  for (const argsText of [
    '{"command": "\ud800',
    "{\0}",
    `{"\ud800": 1}`,
    `{"command":"x","${"\ud83d".repeat(90)}":1}`,
  ]) {
    const text = refusal(argsText);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\0");
  }
});

test("arguments beyond the limit are refused unread", () => {
  expect(refusal(`{"command": "${"x".repeat(9 * 1024 * 1024)}"}`)).toContain("characters; at most");
});
