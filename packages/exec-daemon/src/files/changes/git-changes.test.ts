import { DiffStatus } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { parseGitChanges } from "./git-changes.ts";

const raw = (letter: string, ...names: string[]): string =>
  [`:100644 100644 abc def ${letter}`, ...names, ""].join("\0");

test("statuses and counts of one name come together", () => {
  const output = `${raw("M", "a")}${raw("R100", "old", "new")}${raw("A", "bin")}3\t1\ta\0${"2\t0\t"}\0old\0new\0-\t-\tbin\0`;
  const none = { oldPath: undefined, addedLines: 0, removedLines: 0, binary: false };
  expect(parseGitChanges(output)).toEqual([
    { ...none, status: DiffStatus.MODIFIED, path: "a", addedLines: 3, removedLines: 1 },
    { ...none, status: DiffStatus.RENAMED, path: "new", oldPath: "old", addedLines: 2 },
    { ...none, status: DiffStatus.ADDED, path: "bin", binary: true },
  ]);
});

test.each([
  ["A", DiffStatus.ADDED],
  ["D", DiffStatus.REMOVED],
  ["T", DiffStatus.TYPE_CHANGED],
  ["U", DiffStatus.MODIFIED],
])("the letter %s has its meaning", (letter, status) => {
  expect(parseGitChanges(raw(letter, "x"))[0]?.status).toBe(status);
});

test("output that was cut ends with the last whole record", () => {
  expect(parseGitChanges(`${raw("M", "a")}${raw("M", "b")}`.slice(0, -3)).map(({ path }) => path)).toEqual([
    "a",
  ]);
  expect(parseGitChanges("")).toEqual([]);
});
