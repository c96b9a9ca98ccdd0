import { expect, test } from "vitest";
import { createCallAssembler } from "./assemble-calls.ts";
import type { CallDelta } from "./read-chunk.ts";

const delta = (fields: Partial<CallDelta>): CallDelta => ({
  index: null,
  id: null,
  name: null,
  args: "",
  ...fields,
});

test.each<
  readonly [string, readonly Partial<CallDelta>[], readonly (readonly [string | null, string, string])[]]
>([
  [
    "pieces of two calls that alternate are told apart by index",
    [
      { index: 0, id: "a", name: "x" },
      { index: 1, id: "b", name: "y" },
      { index: 0, args: "{1" },
      { index: 1, args: "{2" },
      { index: 0, args: "}" },
    ],
    [
      ["a", "x", "{1}"],
      ["b", "y", "{2"],
    ],
  ],
  [
    "without an index the id tells",
    [
      { id: "a", name: "x" },
      { id: "b", name: "y" },
      { id: "a", args: "1" },
      { id: "b", args: "2" },
    ],
    [
      ["a", "x", "1"],
      ["b", "y", "2"],
    ],
  ],
  [
    "without index and id the newest call goes on",
    [{ name: "x", args: "{" }, { args: "}" }],
    [[null, "x", "{}"]],
  ],
  [
    "without index and id each name begins a call",
    [
      { name: "x", args: "{}" },
      { name: "x", args: "{}" },
    ],
    [
      [null, "x", "{}"],
      [null, "x", "{}"],
    ],
  ],
  [
    "an index used again under another id and with a name is another call",
    [
      { index: 0, id: "a", name: "x", args: "{}" },
      { index: 0, id: "b", name: "x", args: "{}" },
    ],
    [
      ["a", "x", "{}"],
      ["b", "x", "{}"],
    ],
  ],
  [
    "an index used again without ids is another call when complete arguments begin anew",
    [
      { index: 0, name: "x", args: '{"a":1}' },
      { index: 0, name: "x", args: '{"a":2}' },
    ],
    [
      [null, "x", '{"a":1}'],
      [null, "x", '{"a":2}'],
    ],
  ],
  [
    "a name and an id that are repeated with each piece begin nothing",
    [
      { index: 0, id: "a", name: "x", args: '{"a"' },
      { index: 0, id: "a", name: "x", args: ":1}" },
      { index: 0, id: "a", name: "x" },
    ],
    [["a", "x", '{"a":1}']],
  ],
  [
    "a name that comes late is taken",
    [
      { index: 0, args: "{" },
      { index: 0, id: "a", name: "x", args: "}" },
    ],
    [["a", "x", "{}"]],
  ],
  [
    "the same id at two indexes stays two calls",
    [
      { index: 0, id: "a", name: "x", args: "1" },
      { index: 1, id: "a", name: "x", args: "2" },
    ],
    [
      ["a", "x", "1"],
      ["a", "x", "2"],
    ],
  ],
])("%s", (_name, deltas, expected) => {
  const assembler = createCallAssembler();
  for (const fields of deltas) assembler.add(delta(fields));
  expect(assembler.calls().map((call) => [call.providerCallId, call.name, call.argsText])).toEqual(expected);
  expect(assembler.count).toBe(expected.length);
});
