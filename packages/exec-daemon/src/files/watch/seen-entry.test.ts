import { FileType } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { judgeEntry, type SeenEntry } from "./seen-entry.ts";

const file: SeenEntry = {
  ...{ type: FileType.FILE, inode: 7, bornMs: 1, size: 3, modifiedMs: 10, mode: 0o644, owner: "0:0" },
};
const folder: SeenEntry = { ...file, type: FileType.DIRECTORY };

const cases: readonly [string, SeenEntry | undefined, SeenEntry | undefined, string | undefined][] = [
  ["nothing and nothing is no change", undefined, undefined, undefined],
  ["what wasn't there is created", undefined, file, "created"],
  ["what isn't there any more is removed", file, undefined, "removed"],
  ["the same is no change", file, { ...file }, undefined],
  ["another size is a write", file, { ...file, size: 4 }, "written"],
  ["another time is a write", file, { ...file, modifiedMs: 11 }, "written"],
  ["another file under the name is a write", file, { ...file, inode: 8 }, "written"],
  ["another file with a used inode is a write", file, { ...file, bornMs: 2 }, "written"],
  ["another mode is one", file, { ...file, mode: 0o600 }, "mode-changed"],
  ["another owner counts as a mode", file, { ...file, owner: "1:0" }, "mode-changed"],
  ["a folder's time is its entries' matter", folder, { ...folder, modifiedMs: 11 }, undefined],
  ["another folder under the name is a replacement", folder, { ...folder, inode: 8 }, "replaced"],
  ["a folder in a file's place is a replacement", file, folder, "replaced"],
];
test.each(cases)("%s", (_name, before, after, verdict) => {
  expect(judgeEntry(before, after)).toBe(verdict);
});
