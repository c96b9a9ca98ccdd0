import { expect, test } from "vitest";
import { parseBuilt } from "./image-build.ts";

test("what was built is read from the script's last line", () => {
  const built = { image: "sand-box:local", id: "sha256:1", base: "sand-base:2" };
  expect(parseBuilt(JSON.stringify(built))).toEqual(built);
});

test("an answer without an image's id isn't a success", () => {
  expect(() => parseBuilt('{"image":"sand-box:local","base":"b"}')).toThrow(
    expect.objectContaining({ exit: "failed" }),
  );
});
