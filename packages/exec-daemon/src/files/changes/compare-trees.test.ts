import { DiffStatus, FileType } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { asRaw } from "../raw-path.ts";
import type { CheckpointEntry } from "./checkpoint-records.ts";
import { compareTrees } from "./compare-trees.ts";

const entry = (path: string, sha256: string, more: Partial<CheckpointEntry> = {}): CheckpointEntry => ({
  ...{ path: asRaw(path), type: FileType.FILE, mode: 0o644, size: 3, sha256 },
  ...more,
});

const folder = entry("dir", "", { type: FileType.DIRECTORY });

const cases: readonly [string, readonly CheckpointEntry[], readonly CheckpointEntry[], readonly string[]][] =
  [
    ["the same trees have no difference", [folder, entry("a", "1")], [entry("a", "1")], []],
    ["a new file is added", [], [entry("a", "1")], ["ADDED a"]],
    ["a missing one is removed", [entry("a", "1")], [], ["REMOVED a"]],
    ["another content is modified", [entry("a", "1")], [entry("a", "2")], ["MODIFIED a"]],
    ["another mode is modified", [entry("a", "1")], [entry("a", "1", { mode: 0o755 })], ["MODIFIED a"]],
    [
      "a link in a file's place is another kind",
      [entry("a", "1")],
      [entry("a", "2", { type: FileType.SYMLINK })],
      ["TYPE_CHANGED a"],
    ],
    ["the same content under another name is renamed", [entry("b", "1")], [entry("a", "1")], ["RENAMED a"]],
    [
      "one content under two new names is renamed once",
      [entry("c", "1")],
      [entry("a", "1"), entry("b", "1")],
      ["RENAMED a", "ADDED b"],
    ],
    [
      "empty files are never taken for one another",
      [entry("b", "0", { size: 0 })],
      [entry("a", "0", { size: 0 })],
      ["ADDED a", "REMOVED b"],
    ],
  ];
test.each(cases)("%s", (_name, before, after, expected) => {
  expect(compareTrees(before, after).map(({ status, path }) => `${DiffStatus[status]} ${path}`)).toEqual(
    expected,
  );
});
