import { expect, test } from "vitest";
import { type Conditions, type DownloadVerdict, judgeConditions } from "./judge-conditions.ts";

const facts = { etag: '"v1"', modifiedAtMs: Date.parse("2026-01-02T00:00:00Z"), sizeBytes: 100 };
const before = "Thu, 01 Jan 2026 00:00:00 GMT";
const same = "Fri, 02 Jan 2026 00:00:00 GMT";
const none: Conditions = {
  ...{ ifMatch: undefined, ifNoneMatch: undefined, ifModifiedSince: undefined },
  ...{ ifUnmodifiedSince: undefined, ifRange: undefined, range: undefined },
};
const whole: DownloadVerdict = { kind: "whole" };
const part = (start: number, end: number): DownloadVerdict => ({ kind: "part", start, end });
const unsatisfiable: DownloadVerdict = { kind: "unsatisfiable" };
const notModified: DownloadVerdict = { kind: "not-modified" };
const failed: DownloadVerdict = { kind: "precondition-failed" };

test.each<[Partial<Conditions>, DownloadVerdict]>([
  [{}, whole],
  [{ range: "bytes=0-9" }, part(0, 9)],
  [{ range: "bytes=90-" }, part(90, 99)],
  [{ range: "bytes=-10" }, part(90, 99)],
  [{ range: "bytes=-1000" }, part(0, 99)],
  [{ range: "bytes=50-1000" }, part(50, 99)],
  [{ range: "bytes=100-" }, unsatisfiable],
  [{ range: "bytes=-0" }, unsatisfiable],
  [{ range: "bytes=9-3" }, whole],
  [{ range: "bytes=0-1,3-4" }, whole],
  [{ range: "lines=0-1" }, whole],
  [{ range: "bytes=-" }, whole],
  [{ range: "bytes=0-9", ifRange: '"v1"' }, part(0, 9)],
  [{ range: "bytes=0-9", ifRange: '"v0"' }, whole],
  [{ range: "bytes=0-9", ifRange: 'W/"v1"' }, whole],
  [{ range: "bytes=0-9", ifRange: same }, part(0, 9)],
  [{ range: "bytes=0-9", ifRange: before }, whole],
  [{ ifNoneMatch: '"v1"' }, notModified],
  [{ ifNoneMatch: 'W/"v1"' }, notModified],
  [{ ifNoneMatch: '"v0", "v1"' }, notModified],
  [{ ifNoneMatch: "*" }, notModified],
  [{ ifNoneMatch: '"v0"', ifModifiedSince: same }, whole],
  [{ ifModifiedSince: same }, notModified],
  [{ ifModifiedSince: before }, whole],
  [{ ifModifiedSince: "yesterday" }, whole],
  [{ ifMatch: '"v1"' }, whole],
  [{ ifMatch: '"v0"' }, failed],
  [{ ifUnmodifiedSince: before }, failed],
  [{ ifUnmodifiedSince: same }, whole],
])("%j is answered with %j", (asked, verdict) => {
  expect(judgeConditions(facts, { ...none, ...asked })).toEqual(verdict);
});

test("of an empty file there is no part", () => {
  const empty = { ...facts, sizeBytes: 0 };
  expect(judgeConditions(empty, { ...none, range: "bytes=0-" })).toEqual(unsatisfiable);
  expect(judgeConditions(empty, { ...none, range: "bytes=-5" })).toEqual(unsatisfiable);
});
