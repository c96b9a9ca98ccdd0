import { expect, test } from "vitest";
import { parseSettings } from "./running-settings.ts";

test("a replacement keeps the folder and the fence of the host before it", () => {
  expect(parseSettings("PATH=/bin\0SAND_BOX_WORKSPACE_ROOT=/home/me/a=b\0SAND_SANDBOX=required\0")).toEqual({
    workspace: "/home/me/a=b",
    sandbox: "required",
  });
  expect(parseSettings("SAND_SANDBOX=\0")).toEqual({});
});
