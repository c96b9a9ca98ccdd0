import { expect, test } from "vitest";
import { createOutputCapture } from "./capture-output.ts";

function capture(texts: Iterable<string>, head = 100, tail = 100) {
  const output = createOutputCapture(head, tail);
  for (const text of texts) output.add(text);
  return output.finish();
}

test("an output that fits is shown whole, with nothing left out", () => {
  const text = "line\n".repeat(40);
  expect(text.length).toBe(200);
  expect(capture([text])).toEqual({
    text,
    totalBytes: 200,
    totalLines: 40,
    omittedBytes: 0,
    omittedLines: 0,
    lostBytes: 0,
  });
});

test("a longer one keeps its first and last lines and says how much lies between", () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index}\n`);
  const { text, ...counts } = capture(lines);
  expect(counts).toEqual({
    totalBytes: 8_890,
    totalLines: 1_000,
    omittedBytes: 8_697,
    omittedLines: 976,
    lostBytes: 0,
  });
  expect(text.startsWith("line 0\nline 1\n")).toBe(true);
  expect(text.endsWith("line 998\nline 999\n")).toBe(true);
  expect(text).toContain("[8697 bytes, 976 lines left out here: bytes 94 to 8791]\n");
});

test("head, omitted and tail add up to the whole, however it arrives", () => {
  const whole = Array.from({ length: 3_000 }, (_, index) => `${"é你😀x".repeat(index % 7)}${index}\n`).join(
    "",
  );
  for (const size of [1, 3, 17, 5_000, 1_000_000]) {
    const pieces: string[] = [];
    const characters = Array.from(whole);
    for (let at = 0; at < characters.length; at += size)
      pieces.push(characters.slice(at, at + size).join(""));
    const { text, totalBytes, totalLines, omittedBytes, omittedLines } = capture(pieces, 1_000, 2_000);
    const [head = "", tail = ""] = text.split(/\[\d+ bytes, \d+ lines left out here: bytes \d+ to \d+\]\n/);
    expect([totalBytes, totalLines]).toEqual([Buffer.byteLength(whole), 3_000]);
    expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
    expect(Buffer.byteLength(head) + omittedBytes + Buffer.byteLength(tail)).toBe(totalBytes);
    expect(head.split("\n").length - 1 + omittedLines + tail.split("\n").length - 1).toBe(totalLines);
  }
});

test("what is shown of a flood stays within the head, the tail and one line", () => {
  const { text, totalBytes, omittedLines } = capture(
    Array.from({ length: 200 }, () => "y\n".repeat(32 * 1024)),
  );
  expect([totalBytes, omittedLines]).toEqual([200 * 64 * 1024, 200 * 32 * 1024 - 100]);
  expect(text).toBe(
    `${"y\n".repeat(50)}[13107000 bytes, 6553500 lines left out here: bytes 100 to 13107100]\n${"y\n".repeat(50)}`,
  );
});

test("a gap is shown in its place, counted as lost, and moves the positions on", () => {
  const output = createOutputCapture(100, 100);
  output.add("begin\n");
  output.addGap(5_000, "stdout, spool full");
  output.add("end\n");
  expect(output.finish()).toEqual({
    text: "begin\n\n[5000 bytes are missing here: stdout, spool full]\nend\n",
    totalBytes: 5_010,
    totalLines: 2,
    omittedBytes: 0,
    omittedLines: 0,
    lostBytes: 5_000,
  });
});
