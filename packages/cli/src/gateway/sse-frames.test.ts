import { expect, test } from "vitest";
import { createSseParser, type SseFrame } from "./sse-frames.ts";

const log = 'retry: 1000\n\n:ping\n\nid: 7\ndata: {"a":"ä€"}\n\ndata: one\ndata: two\n\ndata:\n\n';
const frames: readonly SseFrame[] = [
  { id: "7", data: '{"a":"ä€"}' },
  { id: undefined, data: "one\ntwo" },
  { id: undefined, data: "" },
];

test("frames are the same wherever the bytes are cut", () => {
  for (const text of [log, log.replaceAll("\n", "\r\n")]) {
    const bytes = new TextEncoder().encode(text);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const parser = createSseParser();
      expect([...parser.push(bytes.subarray(0, cut)), ...parser.push(bytes.subarray(cut))]).toEqual(frames);
    }
  }
});

test("a frame without its blank line isn't handed out", () => {
  expect(createSseParser().push(new TextEncoder().encode("data: x\n"))).toEqual([]);
});

test("an event without end is refused before it fills the memory", () => {
  const parser = createSseParser();
  const chunk = new Uint8Array(1024 * 1024).fill(97);
  expect(() => {
    for (let round = 0; round < 8; round += 1) parser.push(chunk);
  }).toThrow(RangeError);
});
