import { expect, test } from "vitest";
import { parseFailpoint } from "./failpoint.ts";

test("a failpoint is a name and a hit, the first when it isn't said", () => {
  expect(parseFailpoint("commit.before:3")).toEqual({ name: "commit.before", hit: 3 });
  expect(parseFailpoint("commit.before")).toEqual({ name: "commit.before", hit: 1 });
});

test.each(["", ":1", "commit.before:0", "commit.before:x", "a b:1", "commit:1:2"])(
  "%j is refused",
  (spec) => {
    expect(() => parseFailpoint(spec)).toThrow(TypeError);
  },
);
