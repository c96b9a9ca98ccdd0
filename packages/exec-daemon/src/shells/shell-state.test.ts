import { expect, test } from "vitest";
import { bashProgram } from "./bash-program.ts";
import { keepOptions, keepState, parseState, quoteWord, type ShellState, stateMagic } from "./shell-state.ts";

const variable = (name: string, code = `declare -x ${name}="1"`) =>
  ({ kind: "variable", name, code }) as const;
const written = (...fields: string[]): string => [stateMagic, ...fields, ""].join("\0");

test("a state is taken whole or not at all", () => {
  const whole = written("cwd", "", "/w\n", "variable", "A", 'declare -- A="x"', "end", "", "");
  expect(parseState(whole)).toEqual({
    kind: "whole",
    state: { cwd: "/w", records: [variable("A", 'declare -- A="x"')] },
  });
  for (let length = 0; length < whole.length - 3; length += 1)
    expect(parseState(whole.slice(0, length)).kind, `${length} bytes`).toBe("none");
});

test("what a command wrote to the descriptor before its shell did isn't read", () => {
  const noise = "noise\0more\0";
  expect(parseState(noise + written("cwd", "", "/w\n", "end", "", "")).kind).toBe("whole");
  expect(parseState(noise).kind).toBe("none");
  expect(parseState(written("what", "", "", "end", "", "")).kind).toBe("none");
});

test("what the server had set isn't kept, and what the call had set is what it was before", () => {
  const before: ShellState = { cwd: "/", records: [variable("OWN", "before"), variable("SERVER", "before")] };
  const after: ShellState = {
    cwd: "/w",
    records: ["OWN", "SERVER", "NEW", "CALL"].map((name) => variable(name, "after")),
  };
  expect(keepState(before, after, { server: ["SERVER"], own: ["OWN", "CALL"] })).toEqual({
    cwd: "/w",
    records: [variable("NEW", "after"), variable("OWN", "before")],
  });
});

test("options are kept but those that are named, and nothing that is no option", () => {
  const listing = "set -o nounset\nset +o onecmd\nset -o x; rm -rf y\n\nset -o pipefail";
  expect(keepOptions(listing, new Set(["onecmd"]))).toEqual(["set -o nounset", "set -o pipefail"]);
});

test("a word is one word, whatever is in it", () => {
  expect(quoteWord("it's $x")).toBe("'it'\\''s $x'");
});

test("a variable's record that sets another one is left out, and attributes come behind the value", () => {
  const load = bashProgram.loadText({
    records: [
      variable("A", 'declare -- B="forged"'),
      variable("C", 'declare -ir C="5"'),
      variable("D", "declare -- D=1; rm -rf x".replace("-- D", "--; D")),
    ],
    ...{ cwd: undefined, unset: [], saves: true, keepErrexit: false, descriptors: { load: 4, save: 5 } },
  });
  expect(load).not.toContain("forged");
  expect(load).not.toContain("rm -rf");
  expect(load).toContain('declare -- C="5"\ndeclare -ir C\n');
});

test("row 27: a state that holds options which end or hold up a shell is loaded without them", () => {
  const listing = "set -o onecmd\nset -o noexec\nset -o errexit\nset -o nounset";
  const load = (keepErrexit: boolean) =>
    bashProgram.loadText({
      records: [{ kind: "options", name: "", code: listing }],
      ...{ cwd: undefined, unset: [], saves: true, keepErrexit, descriptors: { load: 4, save: 5 } },
    });
  expect(load(false)).not.toMatch(/-o (?:onecmd|noexec|errexit)/u);
  expect(load(false)).toContain("set -o nounset");
  expect(load(true)).toContain("set -o errexit");
});
