import { expect, test } from "vitest";
import { faultOf, type SeenRequest, selectReply } from "./model-script.ts";
import { namedRules } from "./named-rules.ts";
import { parseScriptFile } from "./script-file.ts";

const seen = (lastUserText: string, fields: Partial<SeenRequest> = {}): SeenRequest => ({
  number: 1,
  attempt: 1,
  lastUserText,
  step: 0,
  toolResults: [],
  body: {},
  ...fields,
});

test("replies in a list are taken by request number, and the last one repeats", () => {
  const script = [{ text: "a" }, { text: "b" }];
  expect([1, 2, 3].map((number) => selectReply(script, seen("x", { number })).text)).toEqual(["a", "b", "b"]);
});

test("a rule is taken by the last user text and its reply by the step", () => {
  const script = {
    rules: [{ when: /^go/u, steps: [{ text: "one" }, { text: "two" }] }],
    otherwise: { text: "none" },
  };
  expect(selectReply(script, seen("go on", { number: 9, step: 1 })).text).toBe("two");
  expect(selectReply(script, seen("stop")).text).toBe("none");
});

test("the first attempts of a request meet their faults and the next one the reply", () => {
  const reply = { firstAttempts: [{ kind: "status", status: 529 }] } as const;
  expect([faultOf(reply, 1), faultOf(reply, 2)]).toEqual([{ kind: "status", status: 529 }, undefined]);
});

test("the fixed words run commands one after the other and then tell the results", () => {
  const text = "script:run-many echo a ;; echo b";
  const reply = (step: number, toolResults: readonly string[]) =>
    selectReply({ rules: namedRules }, seen(text, { step, toolResults }));
  expect(reply(0, []).calls).toEqual([{ name: "Shell", args: { command: "echo a" } }]);
  expect(reply(1, ["a"]).calls).toEqual([{ name: "Shell", args: { command: "echo b" } }]);
  expect(reply(2, ["a", "b"])).toEqual({ text: "done: a\nb" });
});

test("a name that begins like another one isn't taken for it", () => {
  expect(selectReply({ rules: namedRules, otherwise: { text: "none" } }, seen("script:runaway x")).text).toBe(
    "none",
  );
});

test("a script file fills the user's words and the last result in, as they are", () => {
  const script = parseScriptFile(
    JSON.stringify({
      rules: [
        {
          name: "twice",
          steps: [{ calls: [{ name: "Shell", args: { command: "echo {args}" } }] }, { text: "got {result}" }],
        },
        { matches: "^hello", steps: [{ text: "hi" }] },
      ],
    }),
  );
  expect(selectReply(script, seen("script:twice $& {x}")).calls).toEqual([
    { name: "Shell", args: { command: "echo $& {x}" } },
  ]);
  expect(selectReply(script, seen("script:twice x", { step: 1, toolResults: ["$1"] })).text).toBe("got $1");
  expect(selectReply(script, seen("hello there")).text).toBe("hi");
  expect(selectReply(script, seen("script:say still there")).text).toBe("still there");
});

test.each([
  "{",
  "[]",
  '{"rules":[{}]}',
  '{"rules":[{"name":"x","steps":[]}]}',
  '{"rules":[{"name":"x","steps":[{"txt":1}]}]}',
])("the script file %s is refused", (text) => {
  expect(() => parseScriptFile(text)).toThrow();
});
