import { Code, ConnectError } from "@connectrpc/connect";
import { BoxError, type ErrorCode } from "@sand/protocol";
import { expect, test } from "vitest";
import { httpStatusOf, toSurfaceError } from "./surface-error.ts";

test.each<[ErrorCode, number, Code]>([
  ["file/no-space", 507, Code.ResourceExhausted],
  ["file/not-found", 404, Code.NotFound],
  ["file/denied", 403, Code.PermissionDenied],
  ["exec/invalid", 400, Code.InvalidArgument],
  ["exec/too-many", 429, Code.ResourceExhausted],
])("%s is told with the status %i", (code, status, connect) => {
  // As it arrives from the daemon's service, which names our code in a header.
  const arrived = new ConnectError("text", connect, {
    "x-sand-code": code,
    "content-type": "application/json",
  });
  for (const error of [arrived, new BoxError(code, "text")]) {
    expect(httpStatusOf(error)).toBe(status);
    const told = toSurfaceError(error);
    expect([told.code, told.rawMessage, told.metadata.get("x-sand-code")]).toEqual([connect, "text", code]);
    expect(told.metadata.get("content-type")).toBeNull();
  }
});

test("an error that nobody expected says nothing of itself", () => {
  const told = toSurfaceError(new Error("a secret path"));
  expect([told.code, told.rawMessage, httpStatusOf(new Error("x"))]).toEqual([
    ...[Code.Internal, "the daemon failed", 500],
  ]);
});
