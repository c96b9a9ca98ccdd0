import { BoxError, InvariantError } from "@sand/protocol";
import { expect, test } from "vitest";
import { toErrorAnswer } from "./error-answer.ts";

test("a public error leaves with its text and code", () => {
  const answer = toErrorAnswer(new BoxError("gateway/agent-not-found", "no agent has this id"));
  expect(answer).toEqual({
    status: 404,
    code: "gateway/agent-not-found",
    body: { error: "no agent has this id", failureCode: "gateway/agent-not-found" },
  });
});

test.each([
  ["a broken invariant", new InvariantError("secret detail")],
  ["an error whose code is not public", new BoxError("gateway/internal", "secret detail")],
  ["a thrown error", new Error("secret detail", { cause: new Error("secret detail") })],
  ["a thrown string", "secret detail"],
  ["a thrown nothing", undefined],
])("%s is an internal error without any detail", (_what, error) => {
  expect(toErrorAnswer(error).body).toEqual({ error: "internal error", failureCode: "gateway/internal" });
});

test("what the HTTP library refuses is the client's mistake, without the library's words", () => {
  const tooLarge = Object.assign(new Error("x"), { code: "FST_ERR_CTP_BODY_TOO_LARGE", statusCode: 413 });
  const cut = Object.assign(new Error("x"), { code: "ECONNRESET", statusCode: 400 });
  expect([tooLarge, cut].map((error) => toErrorAnswer(error).status)).toEqual([413, 400]);
  expect(toErrorAnswer(cut).body.error).toBe("the request is malformed");
});

test("a full disk is told as a store that can't be used now, without a path", () => {
  const full = Object.assign(new Error("ENOSPC: no space left, open '/secret'"), { code: "ENOSPC" });
  const { status, body } = toErrorAnswer(full);
  expect(status).toBe(503);
  expect(body).toEqual({
    error: "the data root can't be written or read now",
    failureCode: "store/unavailable",
  });
});
