import { expect, test } from "vitest";
import { computeDescendants } from "./process-tree.ts";

test("descendants are found through every generation, the nearest first, and nobody else's", () => {
  const rows = [
    { pid: 2, parentPid: 1 },
    { pid: 10, parentPid: 5 },
    { pid: 20, parentPid: 10 },
    { pid: 11, parentPid: 5 },
    { pid: 30, parentPid: 20 },
  ];
  expect(computeDescendants(5, rows)).toEqual([10, 11, 20, 30]);
});

test("a loop in what was read, which pids reused in between can make, ends", () => {
  const rows = [
    { pid: 6, parentPid: 5 },
    { pid: 5, parentPid: 6 },
  ];
  expect(computeDescendants(5, rows)).toEqual([6, 5]);
});
