import { expect, test } from "vitest";
import { type Replacement, replaceExactly } from "./replace-text.ts";

function edit(content: string | Buffer, replacement: Partial<Replacement>) {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const done = replaceExactly(bytes, { oldText: "old", newText: "new", replaceAll: false, ...replacement });
  return done.outcome === "replaced"
    ? { content: done.bytes.toString("latin1"), count: done.count, line: done.line }
    : done.reason;
}

test("the one place is replaced, and its line told", () => {
  expect(edit("a\nold\nb", {})).toEqual({ content: "a\nnew\nb", count: 1, line: 2 });
});

test("dollar signs and backslashes in the new text are plain text", () => {
  expect(edit("old", { newText: "$& \\1 $1" })).toEqual({ content: "$& \\1 $1", count: 1, line: 1 });
});

test("several places are refused with their lines, unless all are asked for", () => {
  expect(edit("old\nx old\nold", {})).toBe(
    "oldText is in the file 3 times (lines 1, 2, 3); add the text around it, or set replaceAll",
  );
  expect(edit("old\nx old\nold", { replaceAll: true })).toEqual({
    content: "new\nx new\nnew",
    count: 3,
    line: 1,
  });
});

test("overlapping places count as several for one replacement, and are replaced from the left for all", () => {
  expect(edit("aaa", { oldText: "aa", newText: "b" })).toContain("2 times");
  expect(edit("aaa", { oldText: "aa", newText: "b", replaceAll: true })).toEqual({
    content: "ba",
    count: 1,
    line: 1,
  });
});

test("bytes that aren't UTF-8 elsewhere in the file stay as they are", () => {
  const content = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("old"), Buffer.from([0x80])]);
  expect(edit(content, {})).toEqual({ content: "\xff\xfenew\x80", count: 1, line: 1 });
});

test("a text can be removed", () => {
  expect(edit("a old b", { oldText: "old ", newText: "" })).toEqual({ content: "a b", count: 1, line: 1 });
});

test("a miss is explained and never guessed at", () => {
  expect(edit("a\r\nb\r\n", { oldText: "a\nb" })).toContain("CRLF");
  expect(edit("x\n    old()\n", { oldText: "\told()\n" })).toContain('Line 2 is like oldText\'s "old()"');
  expect(edit("x", {})).toBe("oldText is not in the file. Read the file again: it has no such line");
});

test("a replacement by the same text is refused", () => {
  expect(edit("old", { newText: "old" })).toContain("nothing would change");
});
