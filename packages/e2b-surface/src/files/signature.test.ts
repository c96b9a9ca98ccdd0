import { expect, test } from "vitest";
import { computeSignature, judgeSignature, type SignatureClaim } from "./signature.ts";

const base = { path: "/a.txt", operation: "read", user: "", expiration: undefined } as const;
const nowMs = 1_000_000;

function judge(signed: Partial<SignatureClaim>, asked: Partial<SignatureClaim> = {}, token = "secret") {
  const signature = computeSignature({ ...base, ...signed }, "secret");
  return judgeSignature({ ...base, signature, ...signed, ...asked }, token, nowMs);
}

test("a signature has the form that clients make", () => {
  expect(computeSignature(base, "secret")).toMatch(/^v1_[A-Za-z0-9+/]{43}$/u);
});

test("what was signed is let in, until its end", () => {
  expect(judge({})).toBe("valid");
  expect(judge({ expiration: "1001" })).toBe("valid");
  expect(judge({ expiration: "1000" })).toBe("expired");
});

test.each<[string, Partial<SignatureClaim>]>([
  ["path", { path: "/b.txt" }],
  ["operation", { operation: "write" }],
  ["account", { user: "root" }],
  ["end", { expiration: "9999" }],
  ["text", { signature: "v1_x" }],
])("another %s than the signed one is wrong", (_what, asked) => {
  expect(judge({}, asked)).toBe("wrong");
});

test("another token, no token and no signature open nothing", () => {
  expect(judge({}, {}, "other")).toBe("wrong");
  const unsigned = { ...base, signature: computeSignature(base, "") };
  expect(judgeSignature(unsigned, "", nowMs)).toBe("wrong");
  expect(judge({}, { signature: "" })).toBe("missing");
});
