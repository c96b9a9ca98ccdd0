import type { JsonValue } from "@sand/protocol";
import { expect, test } from "vitest";
import { joinPayload, type SplitPayload, splitPayload } from "./split-payload.ts";

const limit = 1_000;

function joined({ rest, parts }: SplitPayload): JsonValue {
  return joinPayload(
    rest,
    parts.map(({ at, form, text }) => ({ at, value: form === "text" ? text : JSON.parse(text) })),
  );
}

function check(value: JsonValue): SplitPayload {
  const split = splitPayload(value, limit);
  expect(joined(split)).toEqual(value);
  expect(JSON.stringify(joined(split))).toBe(JSON.stringify(value));
  expect(JSON.stringify(split.rest).length).toBeLessThanOrEqual(limit * 2);
  return split;
}

test("a value within the limit is left whole", () => {
  const value = { a: "x".repeat(500), b: [1, null, true] };
  expect(check(value)).toEqual({ rest: value, parts: [] });
});

test("a long text becomes a part of its own, so that two rows with it name the same blob", () => {
  const text = "long ".repeat(1_000);
  expect(check({ text, atMs: 1 }).parts).toEqual([{ at: ["text"], form: "text", text }]);
  expect(check({ prompt: { text, whenBusy: "steer" } }).parts).toEqual([
    { at: ["prompt", "text"], form: "text", text },
  ]);
  expect(check([0, { text }]).parts).toEqual([{ at: [1, "text"], form: "text", text }]);
});

test("a list of many small things is one part, and what changes beside it doesn't change it", () => {
  const many = Array.from({ length: 500 }, (_, at) => ({ at }));
  const [first] = check({ rawParts: many, atMs: 1 }).parts;
  const [second] = check({ rawParts: many, atMs: 2 }).parts;
  expect(first).toEqual(second);
  expect(first).toMatchObject({ at: ["rawParts"], form: "json" });
});

test("of many members the largest are taken, until the rest fits", () => {
  const value = {
    small: "s",
    ...Object.fromEntries(["a", "b", "c"].map((name) => [name, ["x".repeat(900), 1]])),
  };
  expect(check(value).parts.length).toBeLessThan(3);
});

test("an object of very many tiny members is taken whole", () => {
  const value = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`name ${at}`, at]));
  expect(check(value).parts).toMatchObject([{ at: [], form: "json" }]);
});

test.each([
  ["a lone surrogate", `${"x".repeat(2_000)}\ud800`],
  ["what looks like a stored row", `@{"version":1,"rest":null,"parts":[]}${"x".repeat(2_000)}`],
  ["the whole value", "x".repeat(2_000)],
  [
    "a member named like the prototype",
    JSON.parse(`{"__proto__": ${JSON.stringify("x".repeat(2_000))}, "a": 1}`),
  ],
  ["deep nesting", [[[[[{ a: [["x".repeat(2_000)]] }]]]]]],
  ["large names", { ["n".repeat(900)]: "x".repeat(900), b: "y".repeat(2_000) }],
  ["nothing but nulls", Array.from({ length: 5_000 }, () => null)],
] satisfies [string, JsonValue][])("%s comes back as it was", (_name, value) => {
  check(value);
});

/** a small generator, so that a failing value can be had again from its seed */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

function randomValue(random: () => number, depth: number): JsonValue {
  const kind = Math.floor(random() * (depth > 3 ? 3 : 5));
  if (kind === 0) return Math.floor(random() * 1_000);
  if (kind === 1) return "ü".repeat(Math.floor(random() ** 4 * 3_000));
  if (kind === 2) return random() < 0.5 ? null : random() < 0.5;
  const size = Math.floor(random() * 12);
  const members = Array.from({ length: size }, () => randomValue(random, depth + 1));
  return kind === 3 ? members : Object.fromEntries(members.map((one, at) => [`m${at}`, one]));
}

test("whatever the value, it comes back as it was", () => {
  const seed = Date.now() % 1_000_000;
  const random = createRandom(seed);
  for (let round = 0; round < 300; round += 1) {
    const value = randomValue(random, 0);
    expect({ seed, value: joined(splitPayload(value, limit)) }).toEqual({ seed, value });
  }
});
