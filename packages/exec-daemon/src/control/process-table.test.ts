import { expect, test } from "vitest";
import { assignOwners, type ProcessRow, parseRow } from "./process-table.ts";

test("a name with brackets and blanks doesn't move the fields", () => {
  const stat = `42 (a) b (c) S 7 42 40 0 -1 0 0 0 0 0 150 50 0 0 20 0 3 0 987 0 0`;
  expect(parseRow(stat)).toEqual([
    {
      ...{ pid: 42, parentPid: 7, session: 40, name: "a) b (c", state: "S", startTime: "987" },
      ...{ cpuMs: 2000, threads: 3 },
    },
  ]);
});

test("what is no line of a process is none", () => {
  expect(parseRow("")).toEqual([]);
  expect(parseRow("x (y) S")).toEqual([]);
});

function row(pid: number, parentPid: number, session = pid): ProcessRow {
  return { pid, parentPid, session, name: "", state: "S", startTime: "", cpuMs: 0, threads: 1 };
}

test("the nearest known process above decides, then the session", () => {
  const rows = [row(1, 0), row(10, 1), row(20, 10), row(30, 20), row(40, 1, 20), row(50, 1)];
  const seeds = new Map([
    [10, { daemon: true }],
    [20, { processId: "p" }],
  ]);
  const owners = assignOwners(rows, seeds);
  expect(Object.fromEntries(owners)).toEqual({
    10: { daemon: true },
    20: { processId: "p" },
    30: { processId: "p" },
    40: { processId: "p" },
  });
});

test("parents in a circle, which a changing table can show, end the search", () => {
  expect(assignOwners([row(2, 3), row(3, 2)], new Map()).size).toBe(0);
});
