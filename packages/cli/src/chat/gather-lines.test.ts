import { expect, test } from "vitest";
import { createLineGatherer } from "./gather-lines.ts";

function start(unfinished: () => string = () => "") {
  const texts: string[] = [];
  let due: (() => void) | undefined;
  const gatherer = createLineGatherer({
    onText: (text) => texts.push(text),
    unfinished,
    schedule: (callback) => {
      due = callback;
      return () => {
        due = undefined;
      };
    },
  });
  return { gatherer, texts, passTime: () => due?.() };
}

test("lines of a paste are one prompt", () => {
  const { gatherer, texts, passTime } = start();
  for (const line of ["one", "two", "three"]) gatherer.push(line);
  passTime();
  expect(texts).toEqual(["one\ntwo\nthree"]);
});

test("typed lines are a prompt each", () => {
  const { gatherer, texts, passTime } = start();
  for (const line of ["one", "two"]) {
    gatherer.push(line);
    passTime();
  }
  expect(texts).toEqual(["one", "two"]);
});

test("a paste whose last line has no end waits for that line", () => {
  let typed = "thr";
  const { gatherer, texts, passTime } = start(() => typed);
  gatherer.push("one");
  passTime();
  expect(texts).toEqual([]);
  typed = "";
  gatherer.push("three");
  passTime();
  expect(texts).toEqual(["one\nthree"]);
});

test("what is held back at the end of input is handed over once", () => {
  const { gatherer, texts } = start();
  gatherer.push("one");
  gatherer.flush();
  gatherer.flush();
  expect(texts).toEqual(["one"]);
});
