import { expect, test } from "vitest";
import { judgeMarkers, type MarkerFacts } from "./read-markers.ts";

const none: MarkerFacts = { left: [], used: [], settled: [], crashResumes: [] };

test("a marker that a resume or a settlement used up once is in order", () => {
  expect(
    judgeMarkers({ ...none, left: ["t1/u1", "t2/u1"], used: ["t1/u1"], settled: ["t2/u1"] }, false),
  ).toEqual([]);
});

test("a marker that is ignored, used twice or left by nobody is found, and so is a resume without one", () => {
  expect(judgeMarkers({ ...none, left: ["t1/u1"] }, false)).toEqual(["the marker t1/u1 was used up 0 times"]);
  expect(judgeMarkers({ ...none, left: ["t1/u1"], used: ["t1/u1", "t1/u1"] }, false)).toEqual([
    "the marker t1/u1 was used up 2 times",
  ]);
  expect(judgeMarkers({ ...none, used: ["t1/u1"] }, false)).toEqual(["the marker t1/u1 was left by nobody"]);
  expect(judgeMarkers({ ...none, crashResumes: ["t1"] }, false)).toEqual([
    "turn t1 was resumed as after a crash",
  ]);
  expect(judgeMarkers({ ...none, crashResumes: ["t1"] }, true)).toEqual([]);
});
