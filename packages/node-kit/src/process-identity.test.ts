import { expect, test } from "vitest";
import { parseProcessStat } from "./process-identity.ts";

/** fields 3 to 22 */
const rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 8675309 20 21";

test.each(["(node)", "(a b)", "(tricky) S 9)", "())"])(
  "a program named %s doesn't shift the fields",
  (name) => {
    expect(parseProcessStat(`42 ${name} ${rest}`)).toEqual({ state: "S", startTime: "8675309" });
  },
);

test("a line that isn't whole gives nothing", () => {
  expect(parseProcessStat("42 (node) S 1 2")).toBeUndefined();
});
