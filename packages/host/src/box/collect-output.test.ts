import { expect, test } from "vitest";
import { type CollectedOutput, createOutputCollector } from "./collect-output.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function collect(
  text: string | Uint8Array,
  bounds: { headBytes: number; tailBytes: number },
  pieceBytes = 1,
): CollectedOutput {
  const bytes = typeof text === "string" ? bytesOf(text) : text;
  const collector = createOutputCollector(bounds);
  for (let at = 0; at < bytes.length; at += pieceBytes) collector.add(bytes.subarray(at, at + pieceBytes));
  return collector.finish();
}

test("an output that fits is given whole", () => {
  expect(collect("0123456789", { headBytes: 4, tailBytes: 6 })).toEqual({
    head: "0123456789",
    tail: "",
    omittedBytes: 0,
    omittedLines: 0,
    totalBytes: 10,
  });
});

test.each([1, 3, 1000])("the middle is left out and counted, whatever the pieces: %i", (pieceBytes) => {
  const text = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join("");
  const { head, tail, omittedBytes, omittedLines, totalBytes } = collect(
    text,
    { headBytes: 20, tailBytes: 30 },
    pieceBytes,
  );
  expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
  expect(head.length + tail.length + omittedBytes).toBe(totalBytes);
  const middle = text.slice(head.length, text.length - tail.length);
  expect(omittedLines).toBe(middle.split("\n").length - 1);
});

test("50,000 characters of three bytes in odd pieces come out as they are", () => {
  const text = "你".repeat(50_000);
  expect(collect(text, { headBytes: 200_000, tailBytes: 10 }, 4093).head).toBe(text);
});

test.each([8, 9, 10, 11])("no character is split at a cut of %i bytes", (bound) => {
  const { head, tail } = collect("你好".repeat(40), { headBytes: bound, tailBytes: bound });
  expect(head + tail).not.toContain("\ufffd");
  expect(head.length).toBe(Math.floor(bound / 3));
});

test.each(Array.from({ length: 12 }, (_, index) => index + 4))(
  "no escape sequence is split at a cut of %i bytes",
  (bound) => {
    const { head, tail } = collect("ab\u001b[31mred\u001b[0m".repeat(20), {
      headBytes: bound,
      tailBytes: bound,
    });
    const rest = (head + tail).replaceAll("\u001b[31m", "").replaceAll("\u001b[0m", "");
    expect(rest).toMatch(/^[abred]*$/);
  },
);

test("bytes that aren't UTF-8 come out as replacement characters and change no count", () => {
  const collected = collect(new Uint8Array([0x61, 0xff, 0xfe, 0x62]), { headBytes: 10, tailBytes: 10 });
  expect(collected).toMatchObject({ head: "a\ufffd\ufffdb", omittedBytes: 0, totalBytes: 4 });
});

test("what the source lost is counted, and what follows stands in the tail", () => {
  const collector = createOutputCollector({ headBytes: 100, tailBytes: 100 });
  collector.add(bytesOf("before"));
  collector.lose(1000);
  collector.add(bytesOf("after"));
  expect(collector.finish()).toEqual({
    head: "before",
    tail: "after",
    omittedBytes: 1000,
    omittedLines: 0,
    totalBytes: 1011,
  });
});
