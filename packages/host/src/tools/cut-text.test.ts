import { expect, test } from "vitest";
import { cutTail, takeFitting, trimCutEnd } from "./cut-text.ts";

test("what fits is cut between characters", () => {
  expect(takeFitting("a😀b", 4)).toBe("a");
  expect(takeFitting("a😀b", 5)).toBe("a😀");
  expect(takeFitting("你", 0)).toBe("");
});

test("a tail begins between characters and within its size", () => {
  for (let size = 0; size < 20; size += 1) {
    const tail = cutTail("你😀é".repeat(10), size);
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(size);
    expect(tail.isWellFormed() && !tail.includes("\ufffd")).toBe(true);
  }
});

test("a cut never leaves half an escape sequence on either side", () => {
  const red = "\u001b[38;5;196m";
  for (let length = 1; length < red.length; length += 1) {
    expect(trimCutEnd(`plain ${red.slice(0, length)}`)).toBe("plain ");
    expect(cutTail(`plain ${red}text`, "text".length + red.length - length)).toBe("text");
  }
  expect(trimCutEnd(`plain ${red}`)).toBe(`plain ${red}`);
});

test("a title sequence ends at its bell, and what follows it is kept", () => {
  expect(cutTail("\u001b]0;a title\u0007after", 10)).toBe("after");
});

test("a cut moves to a line's end when one is near, and only then", () => {
  expect(trimCutEnd("one\ntwo")).toBe("one\n");
  expect(trimCutEnd(`one\n${"x".repeat(2_000)}`)).toBe(`one\n${"x".repeat(2_000)}`);
  expect(cutTail("one\ntwo\nthree", 8)).toBe("three");
});
