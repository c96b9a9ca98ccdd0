/** Turns a sound JSON body into one that is wrong in one or more places: still JSON, or no longer. */
import type { JsonObject, JsonValue } from "@sand/protocol";
import type { SeededRandom } from "../seeded-random.ts";

type Make = (random: SeededRandom) => JsonValue;

const numbers = [-1, 0, 1, 0.5, -0.5, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 1e21] as const;
const names = ["..", ".", "../zq", "a/b", "a\\b", " a", "a ", "zq\0zq", "con", "~", "%2e%2e%2f"] as const;
const numberTexts = [
  "NaN",
  "Infinity",
  "1e999",
  "-0",
  "0x10",
  "1_000",
  "true",
  "null",
  "[object Object]",
] as const;
const templates = [
  "{{7*7}}",
  "$\u007bzq}",
  "%s%n%x",
  "<script>zq</script>",
  "data:,zq",
  "file:///zq",
] as const;

/** Values that break what takes them for granted. Paths stay near by, words can't be commands. */
const nastyValues: readonly [Make, ...Make[]] = [
  () => null,
  (random) => random.chance(0.5),
  (random) => random.pick(numbers),
  () => "",
  (random) => `zq${random.word(random.whole(1, 40))}`,
  (random) => "zq".repeat(random.whole(100, 8_000)),
  (random) => random.pick(names),
  (random) => random.pick(["__proto__", "constructor", "toString", "hasOwnProperty", "then"] as const),
  () => "\u{1f600}\u202e\u2028\u2029\ufeff\u0000\u001b[31m\r\n\t",
  // Half of a pair: JSON text may hold it, UTF-8 may not.
  (random) => random.pick(["\ud800", "\udfff", "a\ud800b"] as const),
  () => [],
  () => ({}),
  (random) => Array.from({ length: random.whole(1, 2_000) }, (_, at) => `zq${at}`),
  (random) => nest(random.whole(2, 400), "array"),
  (random) => nest(random.whole(2, 400), "object"),
  () => ({ ["__proto__"]: { admin: true }, constructor: { prototype: { admin: true } } }),
  () => ({ toString: "zq", valueOf: null, toJSON: 1, length: -1 }),
  () => ["zq", 1, null, { a: [] }],
  (random) => random.pick(numberTexts),
  () => "'; DROP TABLE prompts; --",
  (random) => random.pick(templates),
  (random) => Object.fromEntries(Array.from({ length: random.whole(1, 500) }, (_, at) => [`zq${at}`, at])),
  (random) => random.pick(["A", "HOST", "Queue", "steer ", "STEER", "user\0"] as const),
];

function nastyValue(random: SeededRandom): JsonValue {
  return random.pick(nastyValues)(random);
}

function nest(depth: number, kind: "array" | "object"): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = kind === "array" ? [value] : { a: value };
  return value;
}

/** One to three wrong places. */
export function mutateJson(random: SeededRandom, body: JsonObject): JsonValue {
  if (random.chance(0.06)) return nastyValue(random);
  let value: JsonValue = body;
  for (let change = random.whole(1, 3); change > 0; change -= 1) value = mutateOnce(random, value);
  return value;
}

function mutateOnce(random: SeededRandom, value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return nastyValue(random);
  if (isList(value)) return mutateList(random, value);
  const [name, ...others] = shuffledKeys(random, value);
  if (name === undefined || random.chance(0.1))
    return { ...value, [`zq${random.word(3)}`]: nastyValue(random) };
  const { [name]: field, ...rest } = value;
  const choice = random.next();
  if (choice < 0.2) return rest;
  if (choice < 0.25) return { ...rest, [name.toUpperCase()]: field };
  if (choice < 0.3) return { ...value, [name]: [field ?? null] };
  if (choice < 0.35) return { ...value, [name]: { [name]: field } };
  if (choice < 0.4 && others[0] !== undefined) return { ...value, [name]: value[others[0]] };
  return { ...value, [name]: random.chance(0.25) ? mutateOnce(random, field ?? null) : nastyValue(random) };
}

function mutateList(random: SeededRandom, list: readonly JsonValue[]): JsonValue {
  if (list.length === 0 || random.chance(0.5)) return [...list, nastyValue(random)];
  const at = random.whole(0, list.length - 1);
  return list.map((item, index) => (index === at ? mutateOnce(random, item) : item));
}

function shuffledKeys(random: SeededRandom, value: JsonObject): readonly string[] {
  const keys = Object.keys(value);
  const from = random.whole(0, Math.max(0, keys.length - 1));
  return [...keys.slice(from), ...keys.slice(0, from)];
}

// Array.isArray alone doesn't narrow a readonly array.
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Bytes that are no JSON, or JSON that no parser of ours wrote. */
export function breakText(random: SeededRandom, text: string): Buffer {
  const bytes = Buffer.from(text);
  const at = random.whole(0, Math.max(0, bytes.length - 1));
  switch (random.whole(0, 11)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([
        bytes,
        Buffer.from(random.pick(["}", "]", ",", "{}", "null", "\0", "//"] as const)),
      ]);
    case 2:
      return Buffer.from(text.replaceAll('"', "'"));
    case 3:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(random.whole(1, 8)), bytes.subarray(at)]);
    case 5:
      return Buffer.from(random.bytes(random.whole(1, 2_000)));
    case 6:
      return Buffer.from(text, "utf16le");
    case 7:
      return Buffer.from("[".repeat(random.whole(1_000, 50_000)));
    case 8:
      return Buffer.from('{"a":'.repeat(random.whole(1_000, 20_000)));
    case 9:
      return Buffer.from(text.replace("{", '{"__proto__":{"x":1},"prompt":1,"prompt":2,'));
    case 10:
      return Buffer.from(
        random.pick([
          "NaN",
          "undefined",
          "{",
          '{"a":NaN}',
          '{"a":01}',
          '{"a":1,}',
          '"\\ud800"',
          "\t",
          " ",
        ] as const),
      );
    default:
      return Buffer.from(`{"pad":"${"z".repeat(random.whole(1_000, 300_000))}"`);
  }
}
