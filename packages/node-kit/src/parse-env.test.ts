import { BoxError } from "@sand/protocol";
import { expect, test } from "vitest";
import { flagValue, integerBetween, oneOf, portValue, textValue } from "./env-parsers.ts";
import { parseEnv, setting, wipeSecrets } from "./parse-env.ts";

const table = {
  port: setting({ names: ["SAND_PORT", "OLD_PORT"], parse: portValue, fallback: 1340, about: "the port" }),
  mode: setting({ names: ["SAND_MODE"], parse: oneOf(["auto", "off"]), fallback: "auto", about: "the mode" }),
  token: setting<string | undefined>({
    names: ["SAND_TOKEN"],
    parse: textValue,
    fallback: undefined,
    secret: true,
    about: "the bearer",
  }),
  pin: setting({
    names: ["SAND_PIN"],
    parse: integerBetween(0, 9),
    fallback: 0,
    secret: true,
    about: "a secret number",
  }),
};

test("absent and empty variables give the defaults", () => {
  const { values, warnings } = parseEnv(table, { SAND_PORT: "", HOME: "/root" });
  expect(values).toEqual({ port: 1340, mode: "auto", token: undefined, pin: 0 });
  expect(warnings).toEqual([]);
});

test("the first present name of a row wins", () => {
  expect(parseEnv(table, { OLD_PORT: "2", SAND_PORT: "1" }).values.port).toBe(1);
  expect(parseEnv(table, { OLD_PORT: "2" }).values.port).toBe(2);
});

test("the values are frozen", () => {
  expect(Object.isFrozen(parseEnv(table, {}).values)).toBe(true);
});

test("an unknown name with our prefix is a warning, unless another program knows it", () => {
  const env = { SAND_POTR: "1", SAND_OTHER: "1", PATH: "/bin" };
  expect(parseEnv(table, env, { knownElsewhere: ["SAND_OTHER"] }).warnings).toEqual([
    "SAND_POTR is not a setting that this program knows",
  ]);
});

test("all wrong values are reported at once, without a secret's text", () => {
  const parse = (): unknown => parseEnv(table, { SAND_PORT: "70000", SAND_MODE: "on", SAND_PIN: "hunter2" });
  expect(parse).toThrow(BoxError);
  expect(parse).toThrow(
    "SAND_PORT must be a whole number from 0 to 65535; SAND_MODE must be one of auto, off; SAND_PIN is not valid",
  );
});

test("wiping removes the secrets and nothing else", () => {
  const env: Record<string, string | undefined> = { SAND_TOKEN: "t", SAND_PIN: "1", SAND_PORT: "1" };
  wipeSecrets(table, env);
  expect(env).toEqual({ SAND_PORT: "1" });
});

test.each(["1.5", "0x10", " 1", "1e2", "-1", "", "99999999999999999"])("%j is no port", (text) => {
  expect(() => portValue(text)).toThrow(RangeError);
});

test.each([
  ["1", true],
  ["TRUE", true],
  ["off", false],
  ["0", false],
])("the flag %s is %s", (text, value) => {
  expect(flagValue(text)).toBe(value);
});

test("a flag that is neither on nor off is refused", () => {
  expect(() => flagValue("maybe")).toThrow(RangeError);
});
