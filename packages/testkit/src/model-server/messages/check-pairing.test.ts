import type { JsonObject } from "@sand/protocol";
import { expect, test } from "vitest";
import { findPairingBreaches } from "./check-pairing.ts";
import type { SeenMessage } from "./view-request.ts";

const text = (words = "t"): JsonObject => ({ type: "text", text: words });
const use = (id: string, rest: JsonObject = {}): JsonObject => ({
  type: "tool_use",
  id,
  name: "Shell",
  input: {},
  ...rest,
});
const result = (id: string, content = "r"): JsonObject => ({ type: "tool_result", tool_use_id: id, content });
const user = (...blocks: readonly JsonObject[]): SeenMessage => ({ role: "user", blocks });
const assistant = (...blocks: readonly JsonObject[]): SeenMessage => ({ role: "assistant", blocks });

test("a history in which the next message answers each call first is accepted, in any order of the results", () => {
  const messages = [
    user(text(), text()),
    assistant(text(), use("a"), use("b")),
    user(result("b"), result("a"), text()),
    assistant(text()),
    user(text()),
  ];
  expect(findPairingBreaches(messages)).toEqual([]);
});

test.each<readonly [string, readonly SeenMessage[], RegExp]>([
  ["two user messages in a row", [user(text()), user(text())], /role is user and not assistant/u],
  ["an assistant at the beginning", [assistant(text()), user(text())], /role is assistant and not user/u],
  ["an assistant at the end", [user(text()), assistant(text())], /last one isn't the user's/u],
  ["a message without blocks", [user(text()), assistant(), user(text())], /it is empty/u],
  ["a blank text", [user(text(" \n"))], /blank text/u],
  ["a blank result", [user(text()), assistant(use("a")), user(result("a", ""))], /blank result/u],
  ["a call without a result", [user(text()), assistant(use("a")), user(text())], /call a has no result/u],
  ["a call at the end", [user(text()), assistant(use("a"))], /call a has no result/u],
  [
    "a result behind a text",
    [user(text()), assistant(use("a")), user(text(), result("a"))],
    /isn't among the first/u,
  ],
  [
    "a result one message too late",
    [user(text()), assistant(use("a")), user(text()), assistant(text()), user(result("a"))],
    /without its open call/u,
  ],
  [
    "a second result",
    [user(text()), assistant(use("a")), user(result("a"), result("a"))],
    /without its open call/u,
  ],
  [
    "an id used again later",
    [user(text()), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
    /comes twice/u,
  ],
  [
    "an id of another provider's form",
    [user(text()), assistant(use("functions.Shell:0")), user(result("functions.Shell:0"))],
    /form that is refused/u,
  ],
  [
    "a name of another form",
    [user(text()), assistant(use("a", { name: "a.b" })), user(result("a"))],
    /name of a/u,
  ],
  [
    "an input that is no object",
    [user(text()), assistant(use("a", { input: "{}" })), user(result("a"))],
    /no object/u,
  ],
])("%s is a breach", (_name, messages, breach) => {
  expect(findPairingBreaches(messages)).toEqual(expect.arrayContaining([expect.stringMatching(breach)]));
});
