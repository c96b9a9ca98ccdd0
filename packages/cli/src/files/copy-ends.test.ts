import { expect, test } from "vitest";
import { CommandFailure } from "../command-failure.ts";
import { parseCopyEnds } from "./copy-ends.ts";

test("the side that is marked lies in the box", () => {
  expect(parseCopyEnds(["a", "box:b"])).toEqual({
    ...{ direction: "into-box", sources: ["a"], destination: "b", intoFolder: false },
  });
  expect(parseCopyEnds(["box:a", "box:/b", "here"])).toEqual({
    ...{ direction: "out-of-box", sources: ["a", "/b"], destination: "here", intoFolder: true },
  });
});

test("nothing behind the mark is the workspace, and a slash at the end is a folder", () => {
  expect(parseCopyEnds(["a", "box:"])).toMatchObject({ destination: ".", intoFolder: false });
  expect(parseCopyEnds(["a", "box:dir/"])).toMatchObject({ destination: "dir/", intoFolder: true });
});

test.each([
  ["both sides here", ["a", "b"]],
  ["both sides in the box", ["box:a", "box:b"]],
  ["sources on both sides", ["a", "box:b", "box:c"]],
])("refused: %s", (_name, words) => {
  expect(() => parseCopyEnds(words)).toThrow(CommandFailure);
});
