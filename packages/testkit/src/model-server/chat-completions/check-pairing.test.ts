import { expect, test } from "vitest";
import { findPairingBreaches } from "./check-pairing.ts";
import type { SeenMessage } from "./view-request.ts";

const message = (role: string, fields: Partial<SeenMessage> = {}): SeenMessage => ({
  role,
  text: "t",
  calls: [],
  callId: "",
  ...fields,
});
const calling = (...ids: readonly string[]): SeenMessage =>
  message("assistant", { text: "", calls: ids.map((id) => ({ id, name: "Shell", args: "{}" })) });
const result = (callId: string): SeenMessage => message("tool", { callId });

test("a history in which each call has its result is accepted, in any order of the results", () => {
  const messages = [
    message("system"),
    message("user"),
    calling("a", "b"),
    result("b"),
    result("a"),
    message("assistant"),
  ];
  expect(findPairingBreaches(messages)).toEqual([]);
});

test.each<readonly [string, readonly SeenMessage[], RegExp]>([
  ["a call without a result at the end", [calling("a")], /call a has no result/u],
  [
    "a call whose result comes behind a user message",
    [calling("a"), message("user"), result("a")],
    /call a has no result/u,
  ],
  ["one of two results missing", [calling("a", "b"), result("a"), message("user")], /call b has no result/u],
  ["a result without a call", [message("user"), result("a")], /without its open call/u],
  ["a second result", [calling("a"), result("a"), result("a")], /without its open call/u],
  ["an id used twice in one message", [calling("a", "a"), result("a")], /comes twice/u],
  ["an id used again later", [calling("a"), result("a"), calling("a"), result("a")], /comes twice/u],
  ["a call without an id", [calling(""), result("")], /without an id/u],
  ["an empty assistant message", [message("assistant", { text: "" })], /empty assistant/u],
  [
    "arguments that are no JSON",
    [message("assistant", { calls: [{ id: "a", name: "x", args: "{" }] }), result("a")],
    /no JSON/u,
  ],
])("%s is a breach", (_name, messages, breach) => {
  expect(findPairingBreaches(messages)).toEqual(expect.arrayContaining([expect.stringMatching(breach)]));
});
