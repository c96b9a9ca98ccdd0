import { expect, test } from "vitest";
import { bytesText, createCopyTally } from "./copy-tally.ts";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [200 * 1024 * 1024, "200 MiB"],
])("%i bytes are %s", (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test("a line is drawn now and then, without what a name could do to the terminal", () => {
  let now = 1000;
  const drawn: string[] = [];
  const tally = createCopyTally({
    draw: (text) => drawn.push(text),
    note: () => undefined,
    nowMs: () => now,
  });
  tally.begin("bad\u001b[2Jname", 100);
  tally.advance(40, "resumed");
  now = 2000;
  tally.advance(10, "copied");
  expect(drawn).toEqual(["\r\u001b[Kbadname  0 %  0 B/s", "\r\u001b[Kbadname  50 %  10 B/s"]);
  tally.end();
  expect(tally.totals).toEqual({ files: 1, bytes: 10, resumedBytes: 40, skipped: 0 });
});
