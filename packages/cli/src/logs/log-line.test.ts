import { expect, test } from "vitest";
import { createPaint } from "../terminal.ts";
import { describeLogLine, jsonOfLogLine, readLogLine } from "./log-line.ts";

const plain = createPaint(false);
const cases = [
  [
    '{"level":50,"time":0,"name":"h","event":"e.f","msg":"no","err":{"message":"why","stack":"s"}}',
    "1970-01-01T00:00:00.000Z  host    error  e.f  no  err=why",
  ],
  ['{"level":7,"time":"?","msg":"a\\u001b[31mb"}', "host           ab"],
  ["{half", "host    {half"],
  ["Error: \u001b]0;x\u0007bare", "host    Error: bare"],
] as const;

test.each(cases)(
  "a log line is shown with its facts, and without what a terminal would obey (%j)",
  (text, shown) => {
    const line = describeLogLine(readLogLine("host", text, Number.NEGATIVE_INFINITY), plain);
    expect(line.trimStart()).toBe(shown);
  },
);

test("a line that isn't JSON keeps its text and takes the time of the line before it", () => {
  const line = readLogLine("daemon", "  at f", 7);
  expect([line.atMs, jsonOfLogLine(line)]).toEqual([7, { source: "daemon", text: "  at f" }]);
});
