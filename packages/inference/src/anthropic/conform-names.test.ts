import { expect, test } from "vitest";
import { conformIds, conformName } from "./conform-names.ts";

test("ids of the right form go out as they are, others are changed, and different ones stay different", () => {
  const ids = ["toolu_1", "functions.Shell:0", "functions_Shell_0", "functions:Shell.0", "", "_", "toolu_1"];
  expect([...conformIds(ids)]).toEqual([
    ["toolu_1", "toolu_1"],
    ["functions.Shell:0", "functions_Shell_0_"],
    ["functions_Shell_0", "functions_Shell_0"],
    ["functions:Shell.0", "functions_Shell_0__"],
    ["", "__"],
    ["_", "_"],
  ]);
});

test("names of calls that a model made up are given the right form", () => {
  expect(["Shell", "default.Shell", "", "x".repeat(200)].map(conformName)).toEqual([
    "Shell",
    "default_Shell",
    "_",
    "x".repeat(128),
  ]);
});
