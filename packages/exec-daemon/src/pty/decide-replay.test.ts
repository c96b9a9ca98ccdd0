import { expect, test } from "vitest";
import { decideReplay } from "./decide-replay.ts";

const size = { cols: 80, rows: 24 };
function decide(since: number | undefined, resizedAt = 0, seen: typeof size | undefined = size) {
  const ring = { start: 100, end: 200, isOneSizeSince: (offset: number) => offset >= resizedAt };
  return decideReplay({ ring, since, seen, actual: size });
}

test("a place that is kept is continued with bytes", () => {
  expect(decide(150)).toEqual({ kind: "bytes", from: 150 });
});

test("a client that has all of it gets nothing", () => {
  expect(decide(200)).toEqual({ kind: "none" });
});

test.each([[undefined], [99], [201]])("a place that is not kept (%s) gets a picture", (since) => {
  expect(decide(since)).toEqual({ kind: "snapshot" });
});

test("bytes that were printed at another size are never sent again as bytes", () => {
  expect(decide(150, 151)).toEqual({ kind: "snapshot" });
});

test("a client of another size than the terminal gets a picture", () => {
  expect(decide(150, 0, { cols: 120, rows: 24 })).toEqual({ kind: "snapshot" });
});

test("a terminal that has said nothing has nothing to show", () => {
  const ring = { start: 0, end: 0, isOneSizeSince: () => true };
  expect(decideReplay({ ring, since: undefined, seen: size, actual: size })).toEqual({ kind: "none" });
});
