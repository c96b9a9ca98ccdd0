import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";

test("the order of keys does not matter, at any depth", () => {
  expect(canonicalJson({ b: 1, a: { d: [1, { y: null, x: "é" }], c: true } })).toBe(
    canonicalJson({ a: { c: true, d: [1, { x: "é", y: null }] }, b: 1 }),
  );
});

test("the order of a list matters", () => {
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

test("a member that is undefined is left out, and null is not", () => {
  expect(canonicalJson({ a: undefined, b: null })).toBe('{"b":null}');
});

test("a key that names the prototype is a key like any other", () => {
  expect(canonicalJson(JSON.parse('{"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1}}');
});

test("a lone surrogate is escaped, so that the text has one encoding", () => {
  expect(canonicalJson("\ud800")).toBe(String.raw`"\ud800"`);
});
