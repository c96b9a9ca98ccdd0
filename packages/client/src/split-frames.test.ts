import { expect, test } from "vitest";
import { createFrameSplitter, type Frame, frameMaxChars } from "./split-frames.ts";

const stream = 'retry: 1000\n\nid: 7\ndata: {"channel":"a","payload":"x: y"}\n\n:ping\n\ndata: {}\n\n';
const frames: readonly Frame[] = [
  { seq: null, data: null, retryMs: 1000 },
  { seq: 7, data: '{"channel":"a","payload":"x: y"}', retryMs: null },
  { seq: null, data: null, retryMs: null },
  { seq: null, data: "{}", retryMs: null },
];

test("a stream that is chopped at any place gives the same frames", () => {
  for (let at = 0; at <= stream.length; at += 1) {
    const splitter = createFrameSplitter();
    expect([...splitter.push(stream.slice(0, at)), ...splitter.push(stream.slice(at))]).toEqual(frames);
  }
});

test("a frame counts only when its blank line has come", () => {
  expect(createFrameSplitter().push("data: {}\n")).toEqual([]);
});

test("a frame that doesn't end is refused before it fills the memory", () => {
  const splitter = createFrameSplitter();
  expect(() => splitter.push("x".repeat(frameMaxChars + 1))).toThrow(RangeError);
});
