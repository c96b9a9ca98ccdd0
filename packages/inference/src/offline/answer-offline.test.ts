import type { ModelMessage, ToolDescription } from "@sand/agent-core";
import { describe, expect, test } from "vitest";
import { answerOffline } from "./answer-offline.ts";

const tools: readonly ToolDescription[] = ["Shell", "ReadFile", "WriteFile", "ListFiles"].map((name) => ({
  name,
  description: name,
  parameters: { type: "object" },
}));

const user = (text: string): ModelMessage => ({ role: "user", text });

/** a call of the model and its result */
function done(id: string, text: string, isError = false): readonly ModelMessage[] {
  return [
    {
      role: "assistant",
      text: "",
      calls: [{ providerCallId: id, name: "Shell", argsText: "{}" }],
      reasoning: [],
    },
    { role: "tool", providerCallId: id, name: "Shell", text, isError },
  ];
}

describe("each request uses its tool", () => {
  test.each([
    ["run `ls`", "Shell", { command: "ls" }],
    ["read a.txt", "ReadFile", { path: "a.txt" }],
    ["write hi to a.txt", "WriteFile", { path: "a.txt", content: "hi" }],
    ["list files", "ListFiles", { path: "." }],
  ])("%j", (text, name, args) => {
    expect(answerOffline([user(text)], tools).call).toEqual({ providerCallId: "offline-1", name, args });
  });
});

test("a tool that isn't offered is said so and not called", () => {
  const answer = answerOffline([user("run `ls`")], []);
  expect(answer.call).toBeUndefined();
  expect(answer.text).toContain("no Shell tool");
});

test("help says plainly that this is no language model", () => {
  expect(answerOffline([user("help")], tools)).toMatchObject({
    text: expect.stringContaining("no language model"),
    call: undefined,
  });
});

test("what it doesn't understand it says, with what it can do", () => {
  const { text } = answerOffline([user("write a poem")], tools);
  expect(text).toContain("I don't understand this request");
  expect(text).toContain("run a command");
});

test("after the result it answers with the output", () => {
  expect(answerOffline([user("run `ls`"), ...done("offline-1", "a.txt\nb.txt\n")], tools)).toEqual({
    text: "The command `ls` gave:\n\n```\na.txt\nb.txt\n```",
    call: undefined,
  });
});

test("the second of two requests follows the result of the first", () => {
  const history = [user("run `a` then run `b`"), ...done("offline-1", "A")];
  expect(answerOffline(history, tools).call).toEqual({
    providerCallId: "offline-2",
    name: "Shell",
    args: { command: "b" },
  });
  const { text } = answerOffline([...history, ...done("offline-2", "B")], tools);
  expect(text).toContain("`a` gave:\n\n```\nA\n```\n\nThe command `b` gave:\n\n```\nB");
});

test("a failed step ends the plan", () => {
  const { text, call } = answerOffline(
    [user("run `a` then run `b`"), ...done("offline-1", "exit 1", true)],
    tools,
  );
  expect(call).toBeUndefined();
  expect(text).toContain("`a` failed");
  expect(text).toContain("1 more step was asked for");
});

test("a command with a bad exit code ends the plan, and one with a good one doesn't", () => {
  const after = (text: string) =>
    answerOffline([user("run `a` then run `b`"), ...done("offline-1", text)], tools);
  expect(after("exit code 1\n(no output)").call).toBeUndefined();
  expect(after("ended by SIGKILL\n(no output)").text).toContain("`a` failed");
  expect(after("exit code 0\n(no output)").call).toBeDefined();
});

test("only results behind the last user message count", () => {
  const history = [user("run `a`"), ...done("offline-1", "A"), user("run `b`")];
  expect(answerOffline(history, tools).call?.args).toEqual({ command: "b" });
});

test("a call's id is new also when the oldest calls have left the request", () => {
  const history = [user("run `a`"), ...done("offline-7", "A"), user("run `b`")];
  expect(answerOffline(history, tools).call?.providerCallId).toBe("offline-8");
});

test("output can't end its own fence", () => {
  const { text } = answerOffline([user("run `a`"), ...done("offline-1", "```\nx")], tools);
  expect(text).toContain("````\n```\nx\n````");
});

test("a long output is cut, with the number of characters left out", () => {
  const { text } = answerOffline([user("run `a`"), ...done("offline-1", "x".repeat(5_000))], tools);
  expect(text).toContain("(1000 more characters)");
  expect(text.length).toBeLessThan(4_200);
});
