import { expect, test } from "vitest";
import { decideAdmission, type RequestFacts } from "./admit-request.ts";

const token = "0123456789abcdef";
const base: RequestFacts = {
  path: "/api/listAgents",
  method: "POST",
  origin: undefined,
  host: "127.0.0.1:1340",
  authorization: `Bearer ${token}`,
};

function codeOf(facts: Partial<RequestFacts>, configured: string | null = token): string {
  return decideAdmission({ ...base, ...facts }, configured)?.code ?? "admitted";
}

test.each<[string, Partial<RequestFacts>, string]>([
  ["the right bearer", {}, "admitted"],
  ["a wrong bearer", { authorization: "Bearer nope" }, "gateway/unauthorized"],
  ["no bearer", { authorization: undefined }, "gateway/unauthorized"],
  ["an empty bearer", { authorization: "Bearer " }, "gateway/unauthorized"],
  ["another scheme", { authorization: `Basic ${token}` }, "gateway/unauthorized"],
  ["a longer token", { authorization: `Bearer ${token}x` }, "gateway/unauthorized"],
  ["an origin and the right bearer", { origin: "https://evil.example" }, "gateway/browser-origin"],
  ["an empty origin", { origin: "" }, "gateway/browser-origin"],
  ["the null origin", { origin: "null" }, "gateway/browser-origin"],
  ["health without a bearer", { path: "/health", method: "GET", authorization: undefined }, "admitted"],
  ["health with a wrong bearer", { path: "/health", method: "GET", authorization: "Bearer x" }, "admitted"],
  ["health with an origin", { path: "/health", method: "GET", origin: "http://x" }, "gateway/browser-origin"],
  [
    "a path that only looks like health",
    { path: "/health/x", method: "GET", authorization: undefined },
    "gateway/unauthorized",
  ],
  ["a foreign host and the right bearer", { host: "box.example" }, "admitted"],
])("with a token, %s is %s", (_what, facts, expected) => {
  expect(codeOf(facts)).toBe(expected);
});

test.each([
  ["localhost", "admitted"],
  ["LOCALHOST:1340", "admitted"],
  ["127.0.0.1:1340", "admitted"],
  ["127.8.9.1", "admitted"],
  ["[::1]:1340", "admitted"],
  ["evil.example", "gateway/untrusted-host"],
  ["localhost.evil.example", "gateway/untrusted-host"],
  ["127.0.0.1.evil.example", "gateway/untrusted-host"],
  ["evil.example:127", "gateway/untrusted-host"],
  ["localhost:x", "gateway/untrusted-host"],
  ["0.0.0.0", "gateway/untrusted-host"],
  [undefined, "gateway/untrusted-host"],
])("without a token, host %s is %s", (host, expected) => {
  expect(codeOf({ host, authorization: undefined }, null)).toBe(expected);
});
